// matmul_bf16.cpu.92_onednn3: the product of bfloat16s of today's oneDNN, next to the one that the system has.
//
// CHANGE    a vendor's library: the matmul primitive of version 3, made once for a shape.
// EXPECT    kernels that know newer processors, those with AMX among them.
// NUMERICS  float sums.
// NEEDS     oneDNN 3 when klab is built (cmake -DKLAB_ONEDNN3=<its prefix>); AVX-512, with BF16 for an odd depth.
#include <string>

#include "harness/core/registrar.h"
#include "kernels/common/vendor/onednn3.h"
#include "reference/matmul_bf16/matmul_bf16.h"

namespace klab {
namespace {

std::string supported([[maybe_unused]] const MatmulBf16::Shape& s, const Host&) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  // As in 91_onednn: an emulation takes columns of a in pairs, and the last of an odd number times 0: inf becomes NaN.
  if (s.k % 2 != 0 && !__builtin_cpu_supports("avx512bf16"))
    return "oneDNN is right for an odd depth only with AVX-512 BF16";
#endif
  return onednn3::why_not(onednn3::Type::bf16);
}

KLAB_VARIANT(MatmulBf16, {.run = onednn3::product<MatmulBf16>, .peer = true, .supported = supported});

}  // namespace
}  // namespace klab
