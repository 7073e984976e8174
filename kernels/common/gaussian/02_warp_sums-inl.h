// The part of gs_rasterize_bwd.cuda.02_warp_sums that 03_shared_batches, 04_warp_culling and gs_rasterize_abs_bwd.cuda.02_warp_sums take over as it is.

/// Adds a warp's values to where they belong: nine, and two sums of absolute values where the contract has them.
template <class Args, int kValues>
__device__ void set_down(const Args& x, int64_t g, const float (&value)[kValues], bool first) {
  const int64_t n = x.shape.n;
  float* to[kValues] = {x.d_color + g,         x.d_color + n + g, x.d_color + 2 * n + g,
                        x.d_opacity + g,       x.d_conic + g,     x.d_conic + n + g,
                        x.d_conic + 2 * n + g, x.d_mean + g,      x.d_mean + n + g};
  if constexpr (requires { x.pull; }) to[9] = x.pull + g, to[10] = x.pull + n + g;
  for (int j = 0; j < kValues; ++j) {
    float sum = value[j];
    for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(~0U, sum, by);
    if (first) atomicAdd(to[j], sum);
  }
}
