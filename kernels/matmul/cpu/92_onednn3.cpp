// matmul.cpu.92_onednn3: the product of floats of today's oneDNN, next to the one that the system has.
//
// CHANGE    a vendor's library: the matmul primitive of version 3, made once for a shape.
// EXPECT    kernels that know newer processors, those with AMX among them.
// NUMERICS  float, fused multiply-add where the machine has it.
// NEEDS     oneDNN 3 when klab is built (cmake -DKLAB_ONEDNN3=<its prefix>).
#include <algorithm>
#include <string>

#include "harness/core/registrar.h"
#include "kernels/common/vendor/onednn3.h"
#include "reference/matmul/matmul.h"

namespace klab {
namespace {

void run(const Matmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  if (k == 0) {
    std::fill_n(x.c, m * n, 0.0F);
    return;
  }
  onednn3::multiply({m, n, k, onednn3::Type::f32, x.a, x.b, nullptr, x.c});
}

#if defined(__x86_64__)

std::string supported(const Matmul::Shape&, const Host&) { return onednn3::why_not(onednn3::Type::f32); }

#else

std::string supported(const Matmul::Shape&, const Host&) { return "oneDNN's own kernels are for x86-64"; }

#endif

KLAB_VARIANT(Matmul, {.run = run, .peer = true, .supported = supported});

}  // namespace
}  // namespace klab
