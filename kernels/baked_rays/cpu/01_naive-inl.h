// The part of baked_rays.cpu.01_naive that its later rungs take over as it is.

/// A ray, and its harmonics.
struct Beam {
  BakedRays::Path path;
  float basis[4];
};

Beam beam_of(const BakedRays::Args<float>& x, int64_t r) {
  const int64_t n = x.shape.rays;
  const float o[3] = {x.origins[r], x.origins[n + r], x.origins[2 * n + r]};
  const float d[3] = {x.directions[r], x.directions[n + r], x.directions[2 * n + r]};
  Beam beam{BakedRays::path(o, d, x.settings, x.shape.grid), {}};
  sh_basis(x.shape.basis == 4 ? 1 : 0, d[0], d[1], d[2], beam.basis);
  return beam;
}

/// What a ray has collected.
struct Light {
  float color[3] = {0, 0, 0}, depth = 0, left = 1;  // left: transmittance
};

void write_ray(const BakedRays::Args<float>& x, int64_t r, const Light& light) {
  for (int64_t k = 0; k < 3; ++k)
    x.color[k * x.shape.rays + r] = light.color[k] + light.left * x.background[k];
  x.opacity[r] = 1 - light.left;
  x.depth[r] = light.depth;
}
