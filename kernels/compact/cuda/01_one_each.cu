// compact.cuda.01_one_each: one thread an element, its place computed from scratch.
//
// CHANGE    the naive loop: a thread splits the number of its element into three indices by division.
// EXPECT    stores of neighbors are 4 sectors/request, whatever the view. Two divisions of 64 bits are calls of 94
//           instructions: 200 an element, for 4 million elements 26 million of a warp, 28 us of 528 issue slots at 1.75 GHz,
//           where the bytes take 8.
// NUMERICS  copies bits.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/compact/compact.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    copy(Compact::Shape s, const float* __restrict__ base, float* __restrict__ out) {
  const int64_t e = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (e >= s.d0 * s.d1 * s.d2) return;
  const int64_t k = e % s.d2, j = e / s.d2 % s.d1, i = e / s.d2 / s.d1;
  out[e] = base[s.offset + i * s.s0 + j * s.s1 + k * s.s2];
}

void run(const Compact::Args<float>& x) {
  const int64_t total = x.shape.d0 * x.shape.d1 * x.shape.d2;
  if (total == 0) return;
  cuda::launch(copy, unsigned((total + kThreads - 1) / kThreads), kThreads, 0, x.shape, x.base, x.out);
}

KLAB_VARIANT(Compact, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
