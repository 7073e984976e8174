// softmax_xent_bwd.cuda.04_by_shape: count blocks first.
//
// CHANGE    who shares a row follows from the shape: a warp, a block, or as many blocks as the device needs to be full, whose
//           pairs (largest, sum) the blocks of a second launch join. Four loads of 16 bytes a thread are in flight before the first
//           is used.
// EXPECT    128 rows of a vocabulary are 128 blocks of 1,024 threads where there were 16 of 256, on 132 multiprocessors: at
//           least 10 times the parent. Rows of up to 1,024 classes go the parent's way, by 16 bytes where they can.
// NUMERICS  a partial sum is scaled when its maximum grows, once for 16 logits; pairs join in tree order. Fast exponentials.
// NEEDS     nothing; a pair for each block where a row has several.
// SASS      LDG.128 STG.128; no LDL STL CALL.div_*64
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/rows/by_shape.h"
#include "kernels/common/rows/device.h"
#include "kernels/common/rows/pairs.h"
#include "reference/softmax_xent_bwd/softmax_xent_bwd.h"

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
    kept_gradient(int64_t n, int c, const float* __restrict__ logits, const int32_t* __restrict__ labels,
                  const float* __restrict__ d_loss, float* __restrict__ loss, float* __restrict__ d_logits) {
  const int64_t i = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  if (i >= n) return;  // all lanes of the warp
  const int lane = int(threadIdx.x) % 32;
  const float* row = logits + i * c;
  float* d = d_logits + i * c;
  const int label = labels[i];

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
    for (float& x : kept[p].v) sum += x = (32 * p + lane) * kEach < c ? __expf(x - largest) : 0;
  sum = sum_of(sum);
  const float g = d_loss[i], scale = g / sum;
#pragma unroll
  for (int p = 0; p < kKept; ++p) {
    const int j = (32 * p + lane) * kEach;
    for (int k = 0; k < kEach; ++k) kept[p].v[k] = scale * kept[p].v[k] - (j + k == label ? g : 0);
    if (j < c) rows::store<kEach>(d + j, kept[p]);
  }
  if (lane == 0) loss[i] = logf(sum) + (largest - row[label]);
}

/// What the gradient of a row needs in addition to its logits.
struct Known {
  float largest, scale, g;
  int label;
  __device__ __forceinline__ float gradient(float x, int j) const {
    return scale * __expf(x - largest) - (j == label ? g : 0);
  }
};

/// Writes one block's part of the gradients of a row.
__device__ __forceinline__ void write(const float* __restrict__ row, float* __restrict__ d,
                                      const rows::Cut& cut, int c, int part, int parts, const Known& known) {
  const int t = int(threadIdx.x), block = int(blockDim.x);
#pragma unroll 1
  for (int j = part * block + t; j < cut.head; j += parts * block) d[j] = known.gradient(row[j], j);
  if (const int j = cut.tail + t; part == 0 && j < c) d[j] = known.gradient(row[j], j);
  for (int k = part * rows::kBatch * block + t; k < cut.fours; k += parts * rows::kBatch * block) {
    rows::Pack<4> v[rows::kBatch] = {};
#pragma unroll
    for (int b = 0; b < rows::kBatch; ++b)
      if (k + b * block < cut.fours) v[b] = rows::load<4>(row + cut.head + 4 * (k + b * block));
#pragma unroll
    for (int b = 0; b < rows::kBatch; ++b) {
      const int j = cut.head + 4 * (k + b * block);
      for (int e = 0; e < 4; ++e) v[b].v[e] = known.gradient(v[b].v[e], j + e);
      if (k + b * block < cut.fours) rows::store<4>(d + j, v[b]);
    }
  }
}

enum class Pass { both, pairs, gradient };

/// Block b has part b % parts of row b / parts.
template <Pass pass>
__global__ void __launch_bounds__(1024)
    shared_gradient(int parts, int c, const float* __restrict__ logits, const int32_t* __restrict__ labels,
                    const float* __restrict__ d_loss, float* __restrict__ loss, float* __restrict__ d_logits,
                    rows::Pair* pairs) {
  __shared__ rows::Pair of_warp[32];
  const int part = int(blockIdx.x % unsigned(parts));
  const int64_t i = blockIdx.x / unsigned(parts);
  const float* row = logits + i * c;
  float* d = d_logits + i * c;
  const rows::Cut cut(row, d, c);
  rows::Pair all = rows::Pair::none();
  if constexpr (pass == Pass::gradient) {
    for (int k = int(threadIdx.x) % 32; k < parts; k += 32) all = all.with(pairs[i * parts + k]);
    all = rows::join_lanes(all);
  } else {
    all = rows::join_block(rows::read_pair(row, cut, c, part, parts), of_warp);
  }
  if constexpr (pass == Pass::pairs) {
    if (threadIdx.x == 0) pairs[blockIdx.x] = all;
  } else {
    const float g = d_loss[i];
    const int label = labels[i];
    if (part == 0 && threadIdx.x == 0) loss[i] = logf(all.sum) + (all.largest - row[label]);
    write(row, d, cut, c, part, parts, {all.largest, g / all.sum, g, label});
  }
}

using Kernel = void (*)(int64_t, int, const float*, const int32_t*, const float*, float*, float*);

/// The kernel that keeps no more of c logits than it must.
template <int kEach, int kKept = 1>
Kernel kernel_for(int64_t c) {
  if constexpr (32 * kEach * kKept >= rows::kWarpColumns)
    return kept_gradient<kEach, kKept>;
  else
    return c <= 32 * kEach * kKept ? kept_gradient<kEach, kKept> : kernel_for<kEach, 2 * kKept>(c);
}

void run(const SoftmaxXentBwd::Args<float>& x) {
  const int64_t n = x.shape.n, c = x.shape.c;
  if (n == 0) return;
  const rows::Plan plan = rows::plan(n, c, cuda::device().multiprocessors);
  if (plan.by == rows::Sharers::warp) {
    const bool fours = c % 4 == 0 && rows::aligned(x.logits, x.d_logits);
    cuda::launch(fours ? kernel_for<4>(c) : kernel_for<1>(c), plan.grid, plan.threads, 0, n, int(c), x.logits,
                 x.labels, x.d_loss, x.loss, x.d_logits);
    return;
  }
  const cuda::Scratch pairs(sizeof(rows::Pair) * plan.grid);
  const auto launch = [&](auto kernel) {
    cuda::launch(kernel, plan.grid, plan.threads, 0, int(plan.parts), int(c), x.logits, x.labels, x.d_loss,
                 x.loss, x.d_logits, pairs.as<rows::Pair>());
  };
  if (plan.by == rows::Sharers::block) {
    launch(shared_gradient<Pass::both>);
  } else {
    launch(shared_gradient<Pass::pairs>);
    launch(shared_gradient<Pass::gradient>);
  }
}

KLAB_VARIANT(SoftmaxXentBwd, {.run = run,
                              .parent = "03_fused",
                              .forward = "07_by_shape",
                              .tiles = {4, 32, 256, 1024, rows::kGridColumns},
                              .expect = {.shape = {128, 50257}, .over_parent = 10}});

}  // namespace
}  // namespace klab
