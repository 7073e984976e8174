// cast.cuda.02_four_each: sixteen bytes in, eight or four out.
//
// CHANGE    a thread has four neighbors: one request for all four floats, and one store of the four results.
// EXPECT    a quarter of the requests; a warp's store is 256 or 128 bytes. Near the bandwidth of the memory.
// NUMERICS  the contract's bits.
// NEEDS     nothing; where x or out does not begin on 16 bytes, and for the last three numbers, one at a
//           time.
// SASS      LDG.128 STG.64; no LDL STL CALL
#include "harness/core/registrar.h"
#include "kernels/common/formats/narrow_device.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kEach = 4;

__global__ void __launch_bounds__(kThreads)
    convert(int64_t n, cast_device::Format format, bool wide, bool aligned, const float* __restrict__ x,
            const float* __restrict__ scale, uint8_t* __restrict__ out) {
  const int64_t i = (int64_t(blockIdx.x) * kThreads + threadIdx.x) * kEach;
  const float factor = *scale;
  if (!aligned || i + kEach > n) {
    for (int64_t k = i; k < min(n, i + kEach); ++k)
      cast_device::store(out, k, wide, cast_device::narrow(format, x[k] * factor));
    return;
  }
  const float4 four = *reinterpret_cast<const float4*>(x + i);
  const unsigned a = cast_device::narrow(format, four.x * factor),
                 b = cast_device::narrow(format, four.y * factor);
  const unsigned c = cast_device::narrow(format, four.z * factor),
                 d = cast_device::narrow(format, four.w * factor);
  if (wide)
    *reinterpret_cast<uint2*>(out + 2 * i) = make_uint2(a | b << 16, c | d << 16);
  else
    *reinterpret_cast<unsigned*>(out + i) = a | b << 8 | c << 16 | d << 24;
}

void run(const Cast::Args<float>& x) {
  const int64_t n = x.shape.n, block = kThreads * kEach;
  if (n == 0) return;
  const bool aligned = (reinterpret_cast<uintptr_t>(x.x) | reinterpret_cast<uintptr_t>(x.out)) % 16 == 0;
  cuda::launch(convert, dim3(unsigned((n + block - 1) / block)), dim3(kThreads), 0, n,
               cast_device::format_of(x.shape.format), x.shape.width() == 2, aligned, x.x, x.scale, x.out);
}

KLAB_VARIANT(Cast, {.run = run,
                    .parent = "01_one_each",
                    .tiles = {kEach, kThreads* kEach},
                    .expect = {.shape = {1 << 22, 1}, .over_parent = 1.2}});

}  // namespace
}  // namespace klab
