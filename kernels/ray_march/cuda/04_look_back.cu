// ray_march.cuda.04_look_back: count, find the place, write, in one kernel.
//
// CHANGE    a block that has counted its rays' samples finds the sum of those before in the words of earlier blocks
//           (kernels/common/look_back.h), and marches again to write: no block scans the blocks' sums, and none waits until all
//           have counted.
// EXPECT    two launches fewer, and at a training's 262,144 rays the sixteen rounds of one block. The marches stay as they are:
//           a twentieth less.
// NUMERICS  bit-exact by contract.
// NEEDS     as the parent.
// SASS      ATOMG.ADD LDG.64.STRONG STG.64.STRONG; no LDL STL CALL.div_*64
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/look_back.h"
#include "reference/ray_march/ray_march.h"

namespace klab {
namespace {

constexpr int kThreads = 128;

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
  float o[3], d[3], enter = scene.steps[0], leave = INFINITY;
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

__global__ void __launch_bounds__(kThreads)
    march_tile(Scene scene, Coarse coarse, const uint32_t* __restrict__ words, cuda::LookBack back,
               cuda::AddUpTo add, int32_t* __restrict__ ray_begin, float* __restrict__ t_out,
               float* __restrict__ delta) {
  KLAB_DYNAMIC_SHARED(uint32_t, coarse_bits);
  __shared__ unsigned of_warps[kThreads / 32], before_tile, of_tile, last;
  load_coarse(coarse, words, coarse_bits);
  const unsigned tile = back.take_tile();
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  const int64_t r = int64_t(tile) * kThreads + threadIdx.x;
  const int count = r < scene.rays ? march(scene, coarse, coarse_bits, r, [](int, float) {}) : 0;
  __syncwarp();
  unsigned sum = cuda::scan_warp(min(unsigned(count), add.capacity + 1), add);
  if (lane == 31) of_warps[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    const unsigned up_to = cuda::scan_warp(lane < kThreads / 32 ? of_warps[lane] : 0, add);
    const unsigned all = __shfl_sync(~0U, up_to, 31), before = back.sum_before(tile, all, add);
    const unsigned lower = __shfl_up_sync(~0U, up_to, 1);
    if (lane < kThreads / 32) of_warps[lane] = lane == 0 ? before : add(before, lower);
    if (lane == 0) before_tile = last = before, of_tile = all;
  }
  __syncthreads();
  sum = add(of_warps[warp], sum);
  if (!add.fits(before_tile)) {
    if (threadIdx.x == 0) last = back.wait_for_end();
    __syncthreads();
  } else if (!add.fits(add(before_tile, of_tile))) {
    if (add.fits(sum)) atomicMax(&last, sum);
    __syncthreads();
    if (threadIdx.x == 0) back.publish_end(last);
  }
  if (tile == 0 && threadIdx.x == 0) ray_begin[0] = 0;
  if (r >= scene.rays) return;
  ray_begin[r + 1] = int32_t(add.fits(sum) ? sum : last);
  if (count == 0 || !add.fits(sum)) return;
  const int64_t begin = int64_t(sum) - count;
  march(scene, coarse, coarse_bits, r, [&](int i, float t) {
    t_out[begin + i] = t;
    delta[begin + i] = step_at(t, scene.steps);
  });
}

Scene scene_of(const RayMarch::Args<float>& x) {
  const RayMarch::Shape& s = x.shape;
  return {s.rays,       int(s.grid), int(s.cascades), int(s.max_samples), x.origins,
          x.directions, x.jitter,    x.steps,         x.occupancy};
}

unsigned blocks_of(int64_t threads) { return unsigned((threads + kThreads - 1) / kThreads); }

void run(const RayMarch::Args<float>& x) {
  const Scene scene = scene_of(x);
  const Coarse coarse = coarse_of(x.shape);
  const size_t shared = size_t(coarse.words) * sizeof(uint32_t);
  const int64_t tiles = x.shape.rays / kThreads + 1, largest = INT32_MAX;
  const auto capacity = unsigned(x.shape.capacity < largest ? x.shape.capacity : largest);
  const cuda::Scratch scratch(cuda::LookBack::bytes(tiles) + shared);
  const cuda::LookBack back{scratch.as<unsigned long long>()};
  auto* const words = reinterpret_cast<uint32_t*>(back.memory + tiles + 2);
  cuda::fill_zero(back.memory, cuda::LookBack::bytes(tiles));
  const dim3 threads(kThreads);
  cuda::launch(coarsen, dim3(blocks_of(coarse.words * 32)), threads, 0, coarse, scene.cascades, x.occupancy,
               words);
  cuda::launch(march_tile, dim3(unsigned(tiles)), threads, shared, scene, coarse, words, back,
               cuda::AddUpTo{capacity}, x.ray_begin, x.t, x.delta);
}

KLAB_VARIANT(RayMarch, {.run = run,
                        .parent = "03_two_pass_scan",
                        .tiles = {4, kThreads},
                        .expect = {.shape = {8192, 128, 1, 1024, 1 << 20}, .over_parent = 1.02}});

}  // namespace
}  // namespace klab
