// matmul.cpu.92_onednn3: the product of floats of today's oneDNN, next to the one that the system has.
//
// CHANGE    a vendor's library: the matmul primitive of version 3, made once for a shape.
// EXPECT    kernels that know newer processors, those with AMX among them.
// NUMERICS  float, fused multiply-add where the machine has it.
// NEEDS     oneDNN 3 when klab is built (cmake -DKLAB_ONEDNN3=<its prefix>).
#include <string>

#include "harness/core/registrar.h"
#include "kernels/common/vendor/onednn3.h"
#include "reference/matmul/matmul.h"

namespace klab {
namespace {

std::string supported(const Matmul::Shape&, const Host&) { return onednn3::why_not(onednn3::Type::f32); }

KLAB_VARIANT(Matmul, {.run = onednn3::product<Matmul>, .peer = true, .supported = supported});

}  // namespace
}  // namespace klab
