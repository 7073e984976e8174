// The part of voxel_march.cuda.01_thread_per_ray that 02_skip_words and 03_look_back take over as it is.

/// The inputs, as the contract has them.
struct Scene {
  int64_t rays;
  int grid;
  const float *origins, *directions, *box;
  const uint8_t* occupancy;
};

/// Bits of a cell coordinate, two zeros between each and the next.
__device__ __forceinline__ uint32_t spread(uint32_t v) {
  v = (v | v << 16) & 0x030000FFU;
  v = (v | v << 8) & 0x0300F00FU;
  v = (v | v << 4) & 0x030C30C3U;
  return (v | v << 2) & 0x09249249U;
}

/// A ray in cell units, or relative to the middle of a grid whose cells grow.
struct Line {
  float u[3], v[3], inverse[3];
  float enter, leave;
  int cell[3];
  int grid, shells;  // below 2 shells: cells of one size

  __device__ __forceinline__ float plane(int axis, int k) const {
    return ((shells < 2 ? float(k) : graded_plane(shells, k, grid)) - u[axis]) * inverse[axis];
  }
  /// Two roundings, as the contract has them; a compiler for GPUs would make one of them.
  __device__ __forceinline__ float place(int axis, float t) const {
    const float there = __fadd_rn(u[axis], __fmul_rn(t, v[axis]));
    return shells < 2 ? there : graded_place(shells, there) * float(grid);
  }
  __device__ __forceinline__ float exit(int axis, int c) const { return plane(axis, c + (v[axis] > 0)); }
};

__device__ __forceinline__ Line line_of(const Scene& scene, int64_t r) {
  const float side = scene.box[1];
  Line l{};
  l.grid = scene.grid;
  l.shells = scene.box[2] != 0 ? ilogbf(side) : 0;
  const bool even = l.shells < 2;
  const float scale = even ? float(scene.grid) / side : 1, begin = even ? 0.5F - 0.5F * side : 0.5F;
  l.enter = scene.box[0];
  l.leave = scene.box[3];
  for (int axis = 0; axis < 3; ++axis) {
    float d = scene.directions[axis * scene.rays + r];
    if (fabsf(d) < 1e-9F) d = copysignf(1e-9F, d);
    l.u[axis] = (scene.origins[axis * scene.rays + r] - begin) * scale;
    l.v[axis] = d * scale;
    l.inverse[axis] = 1.0F / l.v[axis];
    const float a = l.plane(axis, 0), b = l.plane(axis, scene.grid);
    l.enter = fmaxf(l.enter, fminf(a, b));
    l.leave = fminf(l.leave, fmaxf(a, b));
  }
  for (int axis = 0; axis < 3; ++axis) {
    const float at = floorf(l.place(axis, l.enter));
    l.cell[axis] = int(fminf(fmaxf(at, 0.0F), float(scene.grid - 1)));
  }
  return l;
}
