// The part of gs_rasterize_bwd.cuda.01_atomics that 02_warp_sums, 03_shared_batches and both rungs of gs_rasterize_abs_bwd take over as it
// is.

template <class Args>
void run(const Args& x) {
  const auto n = size_t(x.shape.n) * sizeof(float);
  cuda::fill_zero(x.d_mean, 2 * n);
  cuda::fill_zero(x.d_conic, 3 * n);
  cuda::fill_zero(x.d_opacity, n);
  cuda::fill_zero(x.d_color, 3 * n);
  if constexpr (requires { x.pull; }) cuda::fill_zero(x.pull, 2 * n);
  cuda::launch(walk<Args>, unsigned(x.shape.tiles()), dim3(kTile, kTile), 0, x, x.shape.columns());
}
