// matmul_bf16.cpu.92_onednn3: the product of bfloat16s of today's oneDNN, next to the one that the system has.
//
// CHANGE    a vendor's library: the matmul primitive of version 3, made once for a shape.
// EXPECT    kernels that know newer processors, those with AMX among them.
// NUMERICS  float sums.
// NEEDS     oneDNN 3 when klab is built (cmake -DKLAB_ONEDNN3=<its prefix>); AVX-512, with BF16 for an odd depth.
#include <algorithm>
#include <string>

#include "harness/core/registrar.h"
#include "kernels/common/vendor/onednn3.h"
#include "reference/matmul_bf16/matmul_bf16.h"

namespace klab {
namespace {

void run(const MatmulBf16::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  if (k == 0) {
    std::fill_n(x.c, m * n, 0.0F);
    return;
  }
  onednn3::multiply({m, n, k, onednn3::Type::bf16, x.a, x.b, nullptr, x.c});
}

#if defined(__x86_64__)

std::string supported(const MatmulBf16::Shape& s, const Host&) {
  __builtin_cpu_init();
  // As in 91_onednn: an emulation takes columns of a in pairs, and the last of an odd number times 0: inf becomes NaN.
  if (s.k % 2 != 0 && !__builtin_cpu_supports("avx512bf16"))
    return "oneDNN is right for an odd depth only with AVX-512 BF16";
  return onednn3::why_not(onednn3::Type::bf16);
}

#else

std::string supported(const MatmulBf16::Shape&, const Host&) { return "oneDNN's own kernels are for x86-64"; }

#endif

KLAB_VARIANT(MatmulBf16, {.run = run, .peer = true, .supported = supported});

}  // namespace
}  // namespace klab
