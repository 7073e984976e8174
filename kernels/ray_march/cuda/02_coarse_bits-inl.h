// The part of ray_march.cuda.02_coarse_bits that 03_two_pass_scan and 04_look_back take over as it is.

/// Cells of 2^shift cells an edge: on the Morton curve 8^shift neighbors. Chosen so that a bit for each of all
/// cascades fits into 16 KB, and from 4 cells an edge on.
struct Coarse {
  int shift;
  int64_t cells;  // of one cascade
  int64_t words;  // of all, 32 bits each
};

Coarse coarse_of(const RayMarch::Shape& s) {
  int shift = 1;
  const auto cells = [&] { return (s.grid >> shift) * (s.grid >> shift) * (s.grid >> shift); };
  while (s.grid >> shift > 1 && (shift < 2 || cells() * s.cascades > 16 * 1024 * 8)) ++shift;
  return {shift, cells(), (cells() * s.cascades + 31) / 32};
}

/// One bit for each coarse cell with anything in it; lanes of a warp make a word.
__global__ void __launch_bounds__(kThreads)
    coarsen(Coarse coarse, int cascades, const uint8_t* __restrict__ occupancy,
            uint32_t* __restrict__ words) {
  const int64_t c = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const int64_t bytes = int64_t(1) << (3 * coarse.shift) >> 3;  // of a coarse cell
  bool any = false;
  if (c < coarse.cells * cascades)
    for (int64_t b = 0; b < bytes && !any; ++b) any = occupancy[c * bytes + b] != 0;
  const uint32_t word = __ballot_sync(~0U, any);
  if (threadIdx.x % 32 == 0 && c / 32 < coarse.words) words[c / 32] = word;
}

/// All threads of a block call it.
__device__ __forceinline__ void load_coarse(const Coarse& coarse, const uint32_t* __restrict__ words,
                                            uint32_t* shared) {
  for (int64_t w = threadIdx.x; w < coarse.words; w += kThreads) shared[w] = words[w];
  __syncthreads();
}

/// Result of looking up a position's cell.
struct Cell {
  bool occupied;
  float exit;  // a distance at which the ray is surely inside the empty block here, or has just entered it
};

__device__ __forceinline__ Cell look_up(const Scene& scene, const Coarse& coarse, const uint32_t* coarse_bits,
                                        const float* o, const float* d, const float* inverse, float t) {
  const Place at = locate(scene, o, d, t);
  const uint32_t index = spread(at.cell[0]) | spread(at.cell[1]) << 1 | spread(at.cell[2]) << 2;
  const int64_t block = at.cascade * coarse.cells + (index >> (3 * coarse.shift));
  uint32_t edge = 1U << coarse.shift;  // cells along an edge of the block known to be empty
  if (coarse_bits[block / 32] >> (block % 32) & 1) {
    const int64_t bytes = int64_t(scene.grid) * scene.grid * scene.grid / 8;
    if (scene.occupancy[at.cascade * bytes + index / 8] >> (index % 8) & 1) return {true, t};
    edge = 1;
  }
  // Nothing below needs to be exact: exits stop short of the border by more than their own rounding error.
  const float cube = float(1 << at.cascade), size = cube / float(scene.grid);
  float exit = INFINITY;
  for (int axis = 0; axis < 3; ++axis) {
    const float from = float(at.cell[axis] & ~(edge - 1)), to = d[axis] > 0 ? float(edge) : 0.0F;
    const float border = (from + to) * size - 0.5F * cube;  // from the center
    const float margin =
        1e-6F * (1.0F + fabsf(o[axis]) + fabsf(border) + fabsf(t * d[axis])) * fabsf(inverse[axis]);
    exit = fminf(exit, (border - (o[axis] - 0.5F)) * inverse[axis] - margin);
    if (at.cascade == 0) continue;
    // A larger cascade's cell reaches into the smaller cascade's cube, where other bits decide: stop in front of that
    // cube, unless it is surely behind.
    const float half = 0.25F * cube, near_side = d[axis] > 0 ? -half : half;
    const float room = 1e-6F * (1.0F + fabsf(o[axis]) + half + fabsf(t * d[axis])) * fabsf(inverse[axis]);
    const float cube_at = (near_side - (o[axis] - 0.5F)) * inverse[axis];
    if (cube_at + room > t) exit = fminf(exit, cube_at - room);
  }
  return {false, exit};
}

/// Calls take(i, t) for sample i of ray r, at distance t; returns their number.
template <class Take>
__device__ __forceinline__ int march(const Scene& scene, const Coarse& coarse, const uint32_t* coarse_bits,
                                     int64_t r, Take take) {
  float o[3], d[3], enter = scene.steps[0], leave = scene.steps[4];
  const float side = float(1 << (scene.cascades - 1));
  for (int axis = 0; axis < 3; ++axis) {
    o[axis] = scene.origins[axis * scene.rays + r];
    d[axis] = scene.directions[axis * scene.rays + r];
    const float inverse = 1.0F / direction_or_tiny(d[axis]);
    const float a = (0.5F - 0.5F * side - o[axis]) * inverse, b = (0.5F + 0.5F * side - o[axis]) * inverse;
    enter = fmaxf(enter, fminf(a, b));
    leave = fminf(leave, fmaxf(a, b));
  }
  if (!(enter < leave)) return 0;
  const float first = sum_of_product(enter, scene.jitter[r], step_at(enter, scene.steps));
  float inverse[3];
  for (int axis = 0; axis < 3; ++axis) inverse[axis] = 1.0F / direction_or_tiny(d[axis]);
  float t = first;
  int count = 0;
  for (int k = 0; t < leave && count < scene.max_samples;) {
    const Cell cell = look_up(scene, coarse, coarse_bits, o, d, inverse, t);
    if (cell.occupied) take(count++, t);
    if (scene.steps[3] == 0) {
      // The last candidate not beyond the exit; at least the next one.
      const float jump = (cell.exit - first) / scene.steps[1] - 1.0F;
      k = max(k + 1, int(fminf(fmaxf(jump, 0.0F), 1e6F)));
      t = sum_of_product(first, float(k), scene.steps[1]);
    } else {
      do {
        t = __fadd_rn(t, step_at(t, scene.steps));
      } while (t < cell.exit && t < leave);
    }
  }
  return count;
}

unsigned blocks_of(int64_t threads) { return unsigned((threads + kThreads - 1) / kThreads); }
