// The part of draw_rays.cpu.01_naive that 02_threads takes over as it is.

constexpr int64_t kPlace = DrawRays::kPlace;

struct Draw {
  int64_t view, pixel;
  float jitter;
  PixelPoint point;
};

Draw draw(const DrawRays::Args<float>& x, int64_t r) {
  if (!x.shape.drawn)
    return {0, int64_t((uint64_t(x.step[0]) + uint64_t(r)) % uint64_t(x.places[0] * x.places[1])), 0.5F, {}};
  const PhiloxWords words = philox(uint64_t(r), x.seed, x.step);
  const auto view = int64_t(uint64_t(words.w[0]) * uint64_t(x.shape.views) >> 32);
  const int64_t* place = x.places + kPlace * view;
  const auto at = int64_t(uint64_t(words.w[1]) * uint64_t(place[4]) >> 32);
  PixelPoint point;
  if (x.shape.drawn == 2) point = anywhere_in_pixel(words.w[3]);
  return {view, place[5] >= 0 ? x.seen[place[5] + at] : at, float(words.w[2] >> 8) * 0x1p-24F, point};
}

void no_ray(const DrawRays::Args<float>& x, int64_t r) {
  for (int64_t c = 0; c < 3; ++c) {
    const int64_t at = c * x.shape.rays + r;
    x.origins[at] = 1e3F;
    x.directions[at] = float(c == 0);
    x.backdrop[at] = x.color[at] = 0;
  }
  x.jitter[r] = x.depth[r] = 0;
}

void make_ray(const DrawRays::Args<float>& x, int64_t r, const Draw& drawn) {
  const DrawRays::Shape& s = x.shape;
  const int64_t* place = x.places + kPlace * drawn.view;
  const PixelRay ray = pixel_ray(x.cameras + 20 * drawn.view, float(drawn.pixel % place[0]),
                                 float(drawn.pixel / place[0]), drawn.point, DrawRays::kLensSteps);
  PhiloxWords behind{};
  if (s.background == 2) behind = philox(uint64_t(r) | uint64_t{1} << 32, x.seed, x.step);
  const uint8_t* bytes = s.pixels > 0 ? x.image + 4 * (place[2] + drawn.pixel) : nullptr;
  const float alpha = bytes ? float(bytes[3]) / 255.0F : 0.0F;
  for (int64_t c = 0; c < 3; ++c) {
    const int64_t at = c * s.rays + r;
    x.origins[at] = ray.origin[c];
    x.directions[at] = ray.direction[c];
    const float back = s.background == 2 ? float(behind.w[c] >> 8) * 0x1p-24F : float(s.background);
    x.backdrop[at] = back;
    x.color[at] = bytes ? alpha * float(bytes[c]) / 255.0F + (1 - alpha) * back : back;
  }
  x.jitter[r] = drawn.jitter;
  x.depth[r] = s.depths > 0 && place[3] >= 0 ? x.true_depth[place[3] + drawn.pixel] : 0.0F;
}
