// The part of gs_rasterize_bwd.cuda.02_warp_sums that 03_shared_batches takes over as it is.

/// Adds nine values over the warp to where they belong.
__device__ void set_down(const GsRasterizeBwd::Args<float>& x, int64_t g, const float (&value)[9],
                         bool first) {
  const int64_t n = x.shape.n;
  float* const to[9] = {x.d_color + g,         x.d_color + n + g, x.d_color + 2 * n + g,
                        x.d_opacity + g,       x.d_conic + g,     x.d_conic + n + g,
                        x.d_conic + 2 * n + g, x.d_mean + g,      x.d_mean + n + g};
  for (int j = 0; j < 9; ++j) {
    float sum = value[j];
    for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(~0U, sum, by);
    if (first) atomicAdd(to[j], sum);
  }
}
