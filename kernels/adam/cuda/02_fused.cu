// adam.cuda.02_fused: everything about an entry while it is in registers.
//
// CHANGE    one launch for small groups, one thread per group: it reads the gradients, returns if all are
//           zero, and otherwise updates m, v and the parameters. Groups of more than 32 entries are cut into
//           parts of a block each: one launch finds the groups with a gradient, one updates, one counts.
// EXPECT    28 bytes per entry instead of 52: near twice the parent where gradients are dense, more where
//           they are sparse. With groups of two a thread reads 8 neighboring bytes by two requests, so a
//           warp's requests touch each sector twice: L1 serves the second.
// NUMERICS  as the parent: the same operations.
// NEEDS     scratch of 4 bytes a large group.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/adam/adam.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

constexpr int64_t kSmall = 32;  // entries of a group that one thread looks after
constexpr int64_t kPart = 4 * kThreads;

/// 1 - beta^step; in double, because it cancels for small steps.
__device__ __forceinline__ float correction(float beta, int step) {
  return float(1 - pow(double(beta), double(step)));
}

/// One entry's step, everything in registers.
__device__ __forceinline__ void step(const float* hyper, float correct1, float correct2, float gradient,
                                     float& param, float& m, float& v) {
  const float g = gradient + hyper[Adam::l2] * param;
  m = hyper[Adam::beta1] * m + (1 - hyper[Adam::beta1]) * g;
  v = hyper[Adam::beta2] * v + (1 - hyper[Adam::beta2]) * g * g;
  param -= hyper[Adam::rate] * (m / correct1) / (sqrtf(v / correct2) + hyper[Adam::epsilon]);
}

__global__ void __launch_bounds__(kThreads)
    update_groups(int64_t n, int64_t group, int64_t groups, const float* __restrict__ hyper,
                  const float* __restrict__ gradient, float* __restrict__ param, float* __restrict__ m,
                  float* __restrict__ v, int32_t* __restrict__ steps) {
  const int64_t j = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (j >= groups) return;
  const int64_t begin = j * group, end = min(n, begin + group);
  bool live = false;
  for (int64_t i = begin; i < end; ++i) live = live || gradient[i] != 0;
  if (!live) return;
  const int count = steps[j] + 1;
  const float correct1 = correction(hyper[Adam::beta1], count),
              correct2 = correction(hyper[Adam::beta2], count);
  for (int64_t i = begin; i < end; ++i) step(hyper, correct1, correct2, gradient[i], param[i], m[i], v[i]);
  steps[j] = count;
}

/// Entries [begin, end) of the group that a block has part of.
struct Part {
  int64_t group, begin, end;
};

__device__ __forceinline__ Part part_of(int64_t n, int64_t group, int64_t parts) {
  const int64_t j = blockIdx.x / parts, begin = j * group + blockIdx.x % parts * kPart;
  return {j, begin, min(min(n, (j + 1) * group), begin + kPart)};
}

__global__ void __launch_bounds__(kThreads)
    find_live(int64_t n, int64_t group, int64_t parts, const float* __restrict__ gradient,
              int* __restrict__ live) {
  const Part part = part_of(n, group, parts);
  bool any = false;
  for (int64_t i = part.begin + threadIdx.x; i < part.end; i += kThreads) any = any || gradient[i] != 0;
  if (__syncthreads_or(any) && threadIdx.x == 0) atomicOr(live + part.group, 1);
}

__global__ void __launch_bounds__(kThreads)
    update_parts(int64_t n, int64_t group, int64_t parts, const int* __restrict__ live,
                 const float* __restrict__ hyper, const float* __restrict__ gradient,
                 float* __restrict__ param, float* __restrict__ m, float* __restrict__ v,
                 const int32_t* __restrict__ steps) {
  const Part part = part_of(n, group, parts);
  if (!live[part.group]) return;
  const int count = steps[part.group] + 1;
  const float correct1 = correction(hyper[Adam::beta1], count),
              correct2 = correction(hyper[Adam::beta2], count);
  for (int64_t i = part.begin + threadIdx.x; i < part.end; i += kThreads)
    step(hyper, correct1, correct2, gradient[i], param[i], m[i], v[i]);
}

__global__ void __launch_bounds__(kThreads)
    count_steps(int64_t groups, const int* __restrict__ live, int32_t* __restrict__ steps) {
  const int64_t j = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (j < groups) steps[j] += live[j];
}

void run(const Adam::Args<float>& x) {
  const int64_t n = x.shape.n, group = x.shape.group, groups = Adam::groups(x.shape);
  if (n == 0) return;
  const dim3 threads(kThreads), by_group(unsigned((groups + kThreads - 1) / kThreads));
  if (group <= kSmall) {
    cuda::launch(update_groups, by_group, threads, 0, n, group, groups, x.hyper, x.gradient, x.param, x.m,
                 x.v, x.steps);
    return;
  }
  const int64_t parts = (min(n, group) + kPart - 1) / kPart;
  const dim3 by_part(unsigned(groups * parts));
  cuda::Scratch scratch(size_t(groups) * sizeof(int));
  int* live = scratch.as<int>();
  cuda::fill_zero(live, size_t(groups) * sizeof(int));
  cuda::launch(find_live, by_part, threads, 0, n, group, parts, x.gradient, live);
  cuda::launch(update_parts, by_part, threads, 0, n, group, parts, live, x.hyper, x.gradient, x.param, x.m,
               x.v, x.steps);
  cuda::launch(count_steps, by_group, threads, 0, groups, live, x.steps);
}

KLAB_VARIANT(Adam, {.run = run,
                    .parent = "01_launch_per_tensor",
                    .tiles = {32, kPart},
                    .expect = {.shape = {1 << 23, 2, 0}, .over_parent = 1.7}});

}  // namespace
}  // namespace klab
