// The part of visible_limit.cpu.02_simd that 03_threads takes over as it is.

void look(const VisibleLimit::Args<float>& x, int64_t begin_ray, int64_t end_ray) {
  const hn::CappedTag<float, 16> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const float stop = *x.stop;
  HWY_ALIGN float step[16];
  for (int64_t r = begin_ray; r < end_ray; ++r) {
    const float* const raw = x.raw + x.begin[r];
    const float* const delta = x.delta + x.ray_begin[r] + x.shape.first;
    const int64_t n = x.begin[r + 1] - x.begin[r];
    float depth = x.optical_depth[r];
    int64_t i = 0;
    for (int64_t from = 0; from < n && depth <= stop; from += lanes) {
      const size_t count = size_t(std::min(lanes, n - from));
      hn::Store(
          hn::Mul(exp_saturated(d, load_first(d, raw + from, count)), load_first(d, delta + from, count)), d,
          step);
      for (i = from; i < from + int64_t(count) && depth <= stop; ++i) depth += step[i - from];
    }
    if (n > 0 && depth > stop) x.limit[r] = int32_t(x.shape.first + i);
    x.optical_depth[r] = depth;
  }
}
