// The part of ray_march.cpu.01_scalar that 03_skip_blocks takes over as it is.

void run(const March::Args<float>& x) {
  const March::Shape& s = x.shape;
  std::vector<float> kept(size_t(s.max_samples));
  int64_t total = 0;
  bool full = false;
  for (int64_t r = 0; r < s.rays; ++r) {
    x.ray_begin[r] = int32_t(total);
    if (full) continue;
    const Ray ray{{x.origins[r], x.origins[s.rays + r], x.origins[2 * s.rays + r]},
                  {x.directions[r], x.directions[s.rays + r], x.directions[2 * s.rays + r]}};
    const int64_t count = march(x, ray, x.jitter[r], kept.data());
    if (total + count > s.capacity) {
      full = true;
      continue;
    }
    for (int64_t i = 0; i < count; ++i, ++total) {
      x.t[total] = kept[size_t(i)];
      x.delta[total] = March::step_at(kept[size_t(i)], x.steps);
    }
  }
  x.ray_begin[s.rays] = int32_t(total);
}
