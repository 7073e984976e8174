// The part of gs_rasterize_bwd.cuda.01_atomics that gs_rasterize_abs_bwd.cuda.01_atomics takes over as it is. A contract with `pull` gets
// the sums of absolute values, too.

template <class Args>
__global__ void __launch_bounds__(kTile* kTile) walk(Args x, int64_t columns) {
  const int64_t n = x.shape.n, width = x.shape.width, height = x.shape.height, plane = width * height;
  const int64_t tile = blockIdx.x, column = tile % columns * kTile + threadIdx.x;
  const int64_t row = tile / columns * kTile + threadIdx.y, pixel = row * width + column;
  if (row >= height || column >= width) return;
  float h[3], T = 1, behind = 0;
  for (int c = 0; c < 3; ++c) {
    h[c] = x.d_image[c * plane + pixel];
    behind += x.image[c * plane + pixel] * h[c];
  }
  const int end = x.tile_begin[tile + 1];
  for (int k = x.tile_begin[tile]; k < end; ++k) {
    const int64_t g = x.id[k];
    const float xx = x.conic[g], xy = x.conic[n + g], yy = x.conic[2 * n + g];
    const float dx = x.mean[g] - (float(column) + 0.5F), dy = x.mean[n + g] - (float(row) + 0.5F);
    const float falloff = expf(-0.5F * (xx * dx * dx + yy * dy * dy) - xy * dx * dy);
    const float free = x.opacity[g] * falloff, alpha = fminf(0.99F, free);
    if (alpha < 1.0F / 255) continue;
    const float left = T * (1 - alpha);
    if (left < 1e-4F) break;
    const float shade = x.color[g] * h[0] + x.color[n + g] * h[1] + x.color[2 * n + g] * h[2];
    const float weight = T * alpha;
    behind -= weight * shade;
    for (int c = 0; c < 3; ++c) atomicAdd(&x.d_color[c * n + g], weight * h[c]);
    if (free <= 0.99F) {
      const float d_alpha = T * shade - behind / (1 - alpha), d_e = alpha * d_alpha;
      atomicAdd(&x.d_opacity[g], falloff * d_alpha);
      atomicAdd(&x.d_conic[g], -0.5F * dx * dx * d_e);
      atomicAdd(&x.d_conic[n + g], -dx * dy * d_e);
      atomicAdd(&x.d_conic[2 * n + g], -0.5F * dy * dy * d_e);
      const float to_x = (xx * dx + xy * dy) * d_e, to_y = (yy * dy + xy * dx) * d_e;
      atomicAdd(&x.d_mean[g], -to_x);
      atomicAdd(&x.d_mean[n + g], -to_y);
      if constexpr (requires { x.pull; }) {
        atomicAdd(&x.pull[g], fabsf(to_x));
        atomicAdd(&x.pull[n + g], fabsf(to_y));
      }
    }
    T = left;
  }
}
