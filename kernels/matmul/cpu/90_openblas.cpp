// matmul.cpu.90_openblas: OpenBLAS, the descendant of GotoBLAS that most Linux programs multiply with.
//
// CHANGE    a vendor's library: cblas_sgemm.
// EXPECT    the speed of decades of hand-written assembly on this machine.
// NUMERICS  float, fused multiply-add where the machine has it.
// NEEDS     OpenBLAS when klab is built; dimensions below 2^31.
#include <algorithm>
#include <limits>
#include <string>

#include "harness/core/registrar.h"
#include "reference/matmul/matmul.h"
#ifdef KLAB_HAVE_OPENBLAS
#include "kernels/common/vendor/openblas_threads.h"
#endif

namespace klab {
namespace {

#ifdef KLAB_HAVE_OPENBLAS

void run(const Matmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  if (k == 0) {  // a row of A has no length, which cblas refuses
    std::fill_n(x.c, m * n, 0.0F);
    return;
  }
  openblas_use_harness_threads();
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, blasint(m), blasint(n), blasint(k), 1.0F, x.a,
              blasint(k), x.b, blasint(n), 0.0F, x.c, blasint(n));
}

std::string supported(const Matmul::Shape& s, const Host&) {
  const int64_t largest = std::numeric_limits<blasint>::max();
  return std::max({s.m, s.n, s.k}) <= largest ? "" : "OpenBLAS takes dimensions below 2^31";
}

#else

void run(const Matmul::Args<float>&) {}

std::string supported(const Matmul::Shape&, const Host&) {
  return "OpenBLAS was not found when klab was built";
}

#endif

KLAB_VARIANT(Matmul, {.run = run, .peer = true, .supported = supported});

}  // namespace
}  // namespace klab
