// The part of draw_rays.cuda.01_naive that 02_wide_loads takes over as it is.

constexpr int64_t kPlace = DrawRays::kPlace;

struct Draw {
  int64_t view, pixel;
  float jitter;
  PixelPoint point;
};

__device__ __forceinline__ Draw draw(const DrawRays::Args<float>& x, int64_t r) {
  if (!x.shape.drawn)
    return {0, int64_t((uint64_t(x.step[0]) + uint64_t(r)) % uint64_t(x.places[0] * x.places[1])), 0.5F, {}};
  const PhiloxWords words = philox(uint64_t(r), x.seed, x.step);
  const int64_t view = int64_t(uint64_t(words.w[0]) * uint64_t(x.shape.views) >> 32);
  const int64_t* place = x.places + kPlace * view;
  const auto at = int64_t(uint64_t(words.w[1]) * uint64_t(place[4]) >> 32);
  PixelPoint point;
  if (x.shape.drawn == 2) point = anywhere_in_pixel(words.w[3]);
  return {view, place[5] >= 0 ? x.seen[place[5] + at] : at, float(words.w[2] >> 8) * 0x1p-24F, point};
}

__device__ __forceinline__ void no_ray(const DrawRays::Args<float>& x, int64_t r) {
  for (int64_t c = 0; c < 3; ++c) {
    const int64_t at = c * x.shape.rays + r;
    x.origins[at] = 1e3F;
    x.directions[at] = float(c == 0);
    x.backdrop[at] = x.color[at] = 0;
  }
  x.jitter[r] = x.depth[r] = 0;
}
