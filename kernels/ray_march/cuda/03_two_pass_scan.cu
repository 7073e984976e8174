// ray_march.cuda.03_two_pass_scan: count, scan, write.
//
// CHANGE    the one thread that adds up the counts becomes a prefix sum: blocks scan the counts of their own
//           rays while they have them, one block scans the blocks' sums, and a ray finds its place as the sum
//           of the two.
// EXPECT    8192 additions, one after the other, become some twenty steps: the parent's work between its
//           passes all but disappears. The passes themselves stay as they are.
// NUMERICS  bit-exact by contract.
// NEEDS     as the parent.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/ray_march/ray_march.h"

namespace klab {
namespace {

constexpr int kThreads = 128;
constexpr unsigned kWarp = ~0U;

#include "kernels/ray_march/cuda/01_thread_per_ray-inl.h"

#include "kernels/ray_march/cuda/02_coarse_bits-inl.h"

/// Sum of `value` over the threads before this one; `total` becomes that over the block. All threads call it.
__device__ __forceinline__ int64_t sum_before(int64_t value, int64_t& total) {
  __shared__ int64_t of_warp[kThreads / 32];
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  int64_t sum = value;
  for (int step = 1; step < 32; step *= 2) {
    const int64_t before = __shfl_up_sync(kWarp, sum, step);
    if (lane >= step) sum += before;
  }
  __syncthreads();  // of_warp may still be read from the last call
  if (lane == 31) of_warp[warp] = sum;
  __syncthreads();
  int64_t before = 0;
  total = 0;
  for (int w = 0; w < kThreads / 32; ++w) {
    if (w == warp) before = total;
    total += of_warp[w];
  }
  return before + sum - value;
}

/// Where rays begin if all fit: places[r] counts from the first ray of r's block, and block_places[b] is that
/// ray's place. The element after the last block is the sum of all.
struct Places {
  int64_t rays;
  int* places;            // [rays]
  int64_t* block_places;  // [blocks+1]

  __device__ int64_t operator[](int64_t r) const {
    const int64_t block = block_places[r == rays ? (rays + kThreads - 1) / kThreads : r / kThreads];
    return r == rays ? block : block + places[r];
  }
};

__global__ void __launch_bounds__(kThreads)
    count_samples(Scene scene, Coarse coarse, const uint32_t* __restrict__ words, Places places) {
  KLAB_DYNAMIC_SHARED(uint32_t, coarse_bits);
  load_coarse(coarse, words, coarse_bits);
  const int64_t r = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const int count = r < scene.rays ? march(scene, coarse, coarse_bits, r, [](int, float) {}) : 0;
  int64_t total = 0;
  const int64_t before = sum_before(count, total);
  if (r < scene.rays) places.places[r] = int(before);
  if (threadIdx.x == 0) places.block_places[blockIdx.x] = total;
}

/// One block: the blocks' sums become the sums before them.
__global__ void __launch_bounds__(kThreads) scan_blocks(int64_t blocks, int64_t* __restrict__ block_places) {
  int64_t carry = 0;
  for (int64_t first = 0; first < blocks; first += kThreads) {
    const int64_t b = first + threadIdx.x;
    int64_t total = 0;
    const int64_t before = sum_before(b < blocks ? block_places[b] : 0, total);
    if (b < blocks) block_places[b] = carry + before;
    carry += total;
  }
  if (threadIdx.x == 0) block_places[blocks] = carry;
}

/// The largest place of rays up to r that is within capacity: where everything ends if ray r's is not.
__device__ __forceinline__ int64_t last_within(const Places& places, int64_t r, int64_t capacity) {
  int64_t within = 0, beyond = r;  // places ascend, from 0
  while (beyond - within > 1) {
    const int64_t middle = (within + beyond) / 2;
    (places[middle] <= capacity ? within : beyond) = middle;
  }
  return places[within];
}

/// One thread per ray, and one for the end of the last.
__global__ void __launch_bounds__(kThreads)
    write_samples(Scene scene, Coarse coarse, const uint32_t* __restrict__ words, Places places,
                  int64_t capacity, int32_t* __restrict__ ray_begin, float* __restrict__ t_out,
                  float* __restrict__ delta) {
  KLAB_DYNAMIC_SHARED(uint32_t, coarse_bits);
  load_coarse(coarse, words, coarse_bits);
  const int64_t r = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (r > scene.rays) return;
  const int64_t begin = places[r];
  ray_begin[r] = int32_t(begin <= capacity ? begin : last_within(places, r, capacity));
  if (r == scene.rays) return;
  const int64_t end = places[r + 1];
  if (begin == end || end > capacity) return;
  march(scene, coarse, coarse_bits, r, [&](int i, float t) {
    t_out[begin + i] = t;
    delta[begin + i] = step_at(t, scene.steps);
  });
}

void run(const RayMarch::Args<float>& x) {
  const int64_t rays = x.shape.rays, blocks = blocks_of(rays);
  const Scene scene = scene_of(x);
  const Coarse coarse = coarse_of(x.shape);
  const size_t shared = size_t(coarse.words) * sizeof(uint32_t);
  const dim3 threads(kThreads);
  cuda::Scratch scratch(size_t(blocks + 1) * sizeof(int64_t) + shared + size_t(rays) * sizeof(int));
  auto* block_places = scratch.as<int64_t>();
  auto* words = reinterpret_cast<uint32_t*>(block_places + blocks + 1);
  const Places places{rays, reinterpret_cast<int*>(words + coarse.words), block_places};
  cuda::launch(coarsen, dim3(blocks_of(coarse.words * 32)), threads, 0, coarse, scene.cascades, x.occupancy,
               words);
  if (rays > 0)
    cuda::launch(count_samples, dim3(unsigned(blocks)), threads, shared, scene, coarse, words, places);
  cuda::launch(scan_blocks, dim3(1), threads, 0, blocks, block_places);
  cuda::launch(write_samples, dim3(blocks_of(rays + 1)), threads, shared, scene, coarse, words, places,
               x.shape.capacity, x.ray_begin, x.t, x.delta);
}

KLAB_VARIANT(RayMarch, {.run = run,
                        .parent = "02_coarse_bits",
                        .tiles = {4, kThreads, kThreads* kThreads},
                        .expect = {.shape = {8192, 128, 1, 1024, 1 << 20}, .over_parent = 1.1}});

}  // namespace
}  // namespace klab
