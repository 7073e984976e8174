// softmax_xent_fwd.cuda.07_by_shape: count blocks first.
//
// CHANGE    who shares a row follows from the shape: a warp that keeps it in registers, a block, or as many blocks as the device
//           needs to be full, whose pairs (largest, sum) a second launch joins. Four loads of 16 bytes a thread are in flight
//           before the first is used, and a sum is scaled once for these 16 logits.
// EXPECT    a quarter of the load requests. 128 rows of a vocabulary are 128 blocks of 1,024 threads and are read once where they
//           were read twice, four bytes at a time: at least 1.8 times the parent. At ten classes a warp a row, which is what
//           04_warp_per_row is for.
// NUMERICS  a partial sum is scaled when its maximum grows; pairs join in tree order. Fast exponentials.
// NEEDS     nothing; a pair for each block where a row has several.
// SASS      LDG.128; no LDL STL CALL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/rows/by_shape.h"
#include "kernels/common/rows/device.h"
#include "kernels/common/rows/pairs.h"
#include "reference/softmax_xent_fwd/softmax_xent_fwd.h"

namespace klab {
namespace {

constexpr unsigned kAll = ~0U;
constexpr float kLowest = -3.402823466e38F;

__device__ __forceinline__ float max_of(float v) {
  for (int by = 16; by > 0; by /= 2) v = fmaxf(v, __shfl_xor_sync(kAll, v, by));
  return v;
}
__device__ __forceinline__ float sum_of(float v) {
  for (int by = 16; by > 0; by /= 2) v += __shfl_xor_sync(kAll, v, by);
  return v;
}

/// Warp r has row r of at most 32·kEach·kKept logits.
template <int kEach, int kKept>
__global__ void __launch_bounds__(256, 2)
    kept_loss(int64_t n, int c, const float* __restrict__ logits, const int32_t* __restrict__ labels,
              float* __restrict__ loss) {
  const int64_t i = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  if (i >= n) return;  // all lanes of the warp
  const int lane = int(threadIdx.x) % 32;
  const float* row = logits + i * c;
  rows::Pack<kEach> kept[kKept] = {};  // registers have no index: every loop over it is unrolled
  float largest = kLowest;
#pragma unroll
  for (int p = 0; p < kKept; ++p) {
    const int j = (32 * p + lane) * kEach;
    if (j < c) kept[p] = rows::load<kEach>(row + j);
    for (const float x : kept[p].v) largest = j < c ? fmaxf(largest, x) : largest;
  }
  largest = max_of(largest);
  float sum = 0;
#pragma unroll
  for (int p = 0; p < kKept; ++p)
    for (const float x : kept[p].v) sum += (32 * p + lane) * kEach < c ? __expf(x - largest) : 0;
  sum = sum_of(sum);
  if (lane == 0) loss[i] = logf(sum) + (largest - row[labels[i]]);
}

/// Block b has part b % parts of row b / parts. Writes the loss where a row is one block's, else a pair.
__global__ void __launch_bounds__(1024)
    shared_loss(int parts, int c, const float* __restrict__ logits, const int32_t* __restrict__ labels,
                float* __restrict__ loss, rows::Pair* __restrict__ pairs) {
  __shared__ rows::Pair of_warp[32];
  const int part = int(blockIdx.x % unsigned(parts));
  const int64_t i = blockIdx.x / unsigned(parts);
  const float* row = logits + i * c;
  const rows::Pair all =
      rows::join_block(rows::read_pair(row, rows::Cut(row, row, c), c, part, parts), of_warp);
  if (threadIdx.x > 0) return;
  if (parts > 1)
    pairs[blockIdx.x] = all;
  else
    loss[i] = logf(all.sum) + (all.largest - row[labels[i]]);
}

/// Warp r joins the pairs of row r.
__global__ void __launch_bounds__(32)
    join_pairs(int parts, int c, const float* __restrict__ logits, const int32_t* __restrict__ labels,
               float* __restrict__ loss, const rows::Pair* __restrict__ pairs) {
  const int64_t i = blockIdx.x;
  rows::Pair all = rows::Pair::none();
  for (int k = int(threadIdx.x); k < parts; k += 32) all = all.with(pairs[i * parts + k]);
  all = rows::join_lanes(all);
  if (threadIdx.x == 0) loss[i] = logf(all.sum) + (all.largest - logits[i * c + labels[i]]);
}

using Kernel = void (*)(int64_t, int, const float*, const int32_t*, float*);

/// The kernel that keeps no more of c logits than it must.
template <int kEach, int kKept = 1>
Kernel kernel_for(int64_t c) {
  if constexpr (32 * kEach * kKept >= rows::kWarpColumns)
    return kept_loss<kEach, kKept>;
  else
    return c <= 32 * kEach * kKept ? kept_loss<kEach, kKept> : kernel_for<kEach, 2 * kKept>(c);
}

void run(const SoftmaxXentFwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  if (n == 0) return;
  const rows::Plan plan = rows::plan(n, c, cuda::device().multiprocessors);
  if (plan.by == rows::Sharers::warp) {
    const bool fours = c % 4 == 0 && rows::aligned(x.logits);
    cuda::launch(fours ? kernel_for<4>(c) : kernel_for<1>(c), plan.grid, plan.threads, 0, n, int(c), x.logits,
                 x.labels, x.loss);
    return;
  }
  const cuda::Scratch pairs(sizeof(rows::Pair) * plan.grid);
  cuda::launch(shared_loss, plan.grid, plan.threads, 0, int(plan.parts), int(c), x.logits, x.labels, x.loss,
               pairs.as<rows::Pair>());
  if (plan.by == rows::Sharers::grid)
    cuda::launch(join_pairs, unsigned(n), 32, 0, int(plan.parts), int(c), x.logits, x.labels, x.loss,
                 pairs.as<rows::Pair>());
}

KLAB_VARIANT(SoftmaxXentFwd, {.run = run,
                              .parent = "03_warp_shuffle",
                              .tiles = {4, 32, 256, 1024, rows::kGridColumns},
                              .expect = {.shape = {128, 50257}, .over_parent = 1.8}});

}  // namespace
}  // namespace klab
