// cast.cuda.01_one_each: a thread a number.
//
// CHANGE    the naive kernel: each thread loads a float, rounds it as an integer addition, and stores one or two bytes.
// EXPECT    a warp's store is 32 or 64 bytes: one or two sectors/request, where a request can carry 16. Loads are whole
//           lines. Latency of many small requests binds before bandwidth does.
// NUMERICS  the contract's bits.
#include "harness/core/registrar.h"
#include "kernels/common/formats/narrow_device.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    convert(int64_t n, cast_device::Format format, bool wide, const float* __restrict__ x,
            const float* __restrict__ scale, uint8_t* __restrict__ out) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  cast_device::store(out, i, wide, cast_device::narrow(format, x[i] * *scale));
}

void run(const Cast::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n == 0) return;
  cuda::launch(convert, dim3(unsigned((n + kThreads - 1) / kThreads)), dim3(kThreads), 0, n,
               cast_device::format_of(x.shape.format), x.shape.width() == 2, x.x, x.scale, x.out);
}

KLAB_VARIANT(Cast, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
