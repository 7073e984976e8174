// matmul_int8.cpu.92_onednn3: the product of 8-bit integers of today's oneDNN, next to the one that the system has.
//
// CHANGE    a vendor's library: the matmul primitive of version 3, made once for a shape.
// EXPECT    kernels that know newer processors, those with AMX among them.
// NUMERICS  sums in 32 bits, which saturate without VNNI, so it runs only with it.
// NEEDS     oneDNN 3 when klab is built (cmake -DKLAB_ONEDNN3=<its prefix>); AVX-512 VNNI.
#include <string>

#include "harness/core/registrar.h"
#include "kernels/common/vendor/onednn3.h"
#include "reference/matmul_int8/matmul_int8.h"

namespace klab {
namespace {

std::string supported(const MatmulInt8::Shape&, const Host&) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx512vnni")) return "its sums are exact with AVX-512 VNNI only";
#endif
  return onednn3::why_not(onednn3::Type::s8, true);
}

KLAB_VARIANT(MatmulInt8, {.run = onednn3::product<MatmulInt8>, .peer = true, .supported = supported});

}  // namespace
}  // namespace klab
