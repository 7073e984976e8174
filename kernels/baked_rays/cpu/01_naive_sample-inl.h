// The part of baked_rays.cpu.01_naive that 02_skip_by_distance takes over as it is: a sample, number by number.

/// The interpolated number n of a row.
KLAB_SCALAR_FUNCTION float interpolated(const BakedRays::Args<float>& x, const BakedRays::Place& at,
                                        int64_t n) {
  const int64_t line = x.shape.grid + 1;
  float sum = 0;
  KLAB_SCALAR_LOOP
  for (int64_t c = 0; c < 8; ++c) {
    float weight = 1;
    int64_t vertex = 0;
    for (int axis = 2; axis >= 0; --axis) {
      const bool upper = (c >> axis & 1) != 0;
      weight *= upper ? at.upper[axis] : 1 - at.upper[axis];
      vertex = vertex * line + at.cell[axis] + upper;
    }
    sum += weight * float(x.table[x.links[vertex] * x.shape.numbers() + n]);
  }
  return sum * x.factors[n];
}

void add_sample(const BakedRays::Args<float>& x, const Beam& beam, const BakedRays::Place& at, float t,
                Light& light) {
  const float through = std::exp(-std::exp(interpolated(x, at, 0)) * beam.path.step);
  const float weight = light.left * (1 - through);
  for (int64_t k = 0; k < 3; ++k) {
    float sum = 0;
    for (int64_t b = 0; b < x.shape.basis; ++b)
      sum += beam.basis[b] * interpolated(x, at, (1 + k) * x.shape.basis + b);
    light.color[k] += weight / (1 + std::exp(-sum));
  }
  light.depth += weight * t;
  light.left *= through;
}
