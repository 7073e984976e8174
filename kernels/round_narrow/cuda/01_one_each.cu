// round_narrow.cuda.01_one_each: a number a thread, counted where it is met.
//
// CHANGE    one thread rounds one number and adds its outcome to the counts.
// EXPECT    neighbors read and write neighbors; but all threads of all blocks add to the same three numbers,
//           one after the other: an atomic for each number that is not 0.
// NUMERICS  the contract's bits; integers in any order.
#include "harness/core/registrar.h"
#include "kernels/common/formats/rounding_device.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    convert(int64_t n, rounding_device::Rounding rounding, const float* x, const float* factor, float* y,
            int* lost) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  rounding_device::Counts counts;
  y[i] = rounding_device::rounded(rounding, x[i] * *factor, counts);
  if (counts.numbers > 0) atomicAdd(lost, 1);
  if (counts.to_zero > 0) atomicAdd(lost + 1, 1);
  if (counts.infinite > 0) atomicAdd(lost + 2, 1);
}

void run(const RoundNarrow::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n == 0) return;
  cuda::launch(convert, dim3(unsigned((n + kThreads - 1) / kThreads)), dim3(kThreads), 0, n,
               rounding_device::rounding_to(RoundNarrow::format_of(x.shape.format)), x.x, x.factor, x.y,
               x.lost);
}

KLAB_VARIANT(RoundNarrow, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
