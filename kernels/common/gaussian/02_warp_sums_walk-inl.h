// The kernel of gs_rasterize_bwd.cuda.02_warp_sums, which gs_rasterize_abs_bwd.cuda.02_warp_sums takes over as it is. A contract with
// `pull` gets the sums of absolute values, too.

template <class Args>
__global__ void __launch_bounds__(kTile* kTile) walk(Args x, int64_t columns) {
  const int64_t n = x.shape.n, width = x.shape.width, height = x.shape.height, plane = width * height;
  const int64_t tile = blockIdx.x, column = tile % columns * kTile + threadIdx.x;
  const int64_t row = tile / columns * kTile + threadIdx.y, pixel = row * width + column;
  const bool first = (threadIdx.y * kTile + threadIdx.x) % 32 == 0;
  bool ended = row >= height || column >= width;
  constexpr bool kPulls = requires { x.pull; };
  float h[3] = {0, 0, 0}, T = 1, behind = 0;
  for (int c = 0; c < 3 && !ended; ++c) {
    h[c] = x.d_image[c * plane + pixel];
    behind += x.image[c * plane + pixel] * h[c];
  }
  const int end = x.tile_begin[tile + 1];
  for (int k = x.tile_begin[tile]; k < end; ++k) {
    if (__all_sync(~0U, ended)) break;
    const int64_t g = x.id[k];
    const float xx = x.conic[g], xy = x.conic[n + g], yy = x.conic[2 * n + g];
    const float dx = x.mean[g] - (float(column) + 0.5F), dy = x.mean[n + g] - (float(row) + 0.5F);
    const float falloff = expf(-0.5F * (xx * dx * dx + yy * dy * dy) - xy * dx * dy);
    const float free = x.opacity[g] * falloff, alpha = fminf(0.99F, free), left = T * (1 - alpha);
    const bool shows = !ended && alpha >= 1.0F / 255, takes = shows && left >= 1e-4F;
    ended = ended || (shows && !takes);
    if (!__any_sync(~0U, takes)) continue;
    float value[kPulls ? 11 : 9] = {};
    if (takes) {
      const float shade = x.color[g] * h[0] + x.color[n + g] * h[1] + x.color[2 * n + g] * h[2];
      const float weight = T * alpha;
      behind -= weight * shade;
      for (int c = 0; c < 3; ++c) value[c] = weight * h[c];
      if (free <= 0.99F) {
        const float d_alpha = T * shade - behind / (1 - alpha), d_e = alpha * d_alpha;
        value[3] = falloff * d_alpha;
        value[4] = -0.5F * dx * dx * d_e;
        value[5] = -dx * dy * d_e;
        value[6] = -0.5F * dy * dy * d_e;
        value[7] = -(xx * dx + xy * dy) * d_e;
        value[8] = -(yy * dy + xy * dx) * d_e;
        if constexpr (kPulls) value[9] = fabsf(value[7]), value[10] = fabsf(value[8]);
      }
      T = left;
    }
    set_down(x, g, value, first);
  }
}
