// The part of gs_rasterize_abs_bwd.cuda.01_atomics that 02_warp_sums takes over as it is.

void run(const GsRasterizeAbsBwd::Args<float>& x) {
  const auto n = size_t(x.shape.n) * sizeof(float);
  cuda::fill_zero(x.d_mean, 2 * n);
  cuda::fill_zero(x.d_conic, 3 * n);
  cuda::fill_zero(x.d_opacity, n);
  cuda::fill_zero(x.d_color, 3 * n);
  cuda::fill_zero(x.pull, 2 * n);
  cuda::launch(walk, unsigned(x.shape.tiles()), dim3(kTile, kTile), 0, x, x.shape.columns());
}
