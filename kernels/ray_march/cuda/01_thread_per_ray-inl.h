// The part of ray_march.cuda.01_thread_per_ray that 02_coarse_bits, 03_two_pass_scan and 04_look_back take over as it is.

/// The inputs, as the contract has them.
struct Scene {
  int64_t rays;
  int grid, cascades, max_samples;
  const float *origins, *directions, *jitter, *steps;
  const uint8_t* occupancy;
};

// The contract's arithmetic decides the cell of a position, to the last bit. A GPU compiler fuses a product
// and a sum into one operation with one rounding, unless each is an explicit intrinsic.
__device__ __forceinline__ float sum_of_product(float a, float b, float c) {
  return __fadd_rn(a, __fmul_rn(b, c));
}

__device__ __forceinline__ float step_at(float t, const float* steps) {
  return fminf(fmaxf(__fmul_rn(t, steps[3]), steps[1]), steps[2]);
}

__device__ __forceinline__ float direction_or_tiny(float d) {
  return fabsf(d) < 1e-9F ? copysignf(1e-9F, d) : d;
}

/// Bits of a cell coordinate, two zeros between each and the next.
__device__ __forceinline__ uint32_t spread(uint32_t v) {
  v = (v | v << 16) & 0x030000FFU;
  v = (v | v << 8) & 0x0300F00FU;
  v = (v | v << 4) & 0x030C30C3U;
  return (v | v << 2) & 0x09249249U;
}

/// Where a position is: its cascade, its cell there.
struct Place {
  int cascade;
  uint32_t cell[3];
};

__device__ __forceinline__ Place locate(const Scene& scene, const float* o, const float* d, float t) {
  float c[3];
  for (int axis = 0; axis < 3; ++axis) c[axis] = __fsub_rn(sum_of_product(o[axis], t, d[axis]), 0.5F);
  const float away = fmaxf(fmaxf(fabsf(c[0]), fabsf(c[1])), fabsf(c[2]));
  Place place{0, {}};
  float half = 0.5F;
  for (; place.cascade + 1 < scene.cascades && !(away < half); half *= 2) ++place.cascade;
  for (int axis = 0; axis < 3; ++axis) {
    const float in_cube = __fadd_rn(c[axis] * (0.5F / half), 0.5F);  // by a power of two: exact
    const int cell = int(floorf(in_cube * float(scene.grid)));
    place.cell[axis] = uint32_t(min(max(cell, 0), scene.grid - 1));
  }
  return place;
}

Scene scene_of(const RayMarch::Args<float>& x) {
  const RayMarch::Shape& s = x.shape;
  return {s.rays,       int(s.grid), int(s.cascades), int(s.max_samples), x.origins,
          x.directions, x.jitter,    x.steps,         x.occupancy};
}
