// matmul_bwd.cpu.90_openblas: the gradients as two calls of OpenBLAS.
//
// CHANGE    a vendor's library: cblas_sgemm with its transposition flags.
// EXPECT    twice the forward's time.
// NUMERICS  float, fused multiply-add where the machine has it.
// NEEDS     OpenBLAS when klab is built; dimensions below 2^31.
#include <algorithm>
#include <limits>
#include <string>

#include "harness/core/registrar.h"
#include "reference/matmul_bwd/matmul_bwd.h"
#ifdef KLAB_HAVE_OPENBLAS
#include "kernels/common/vendor/openblas_threads.h"
#endif

namespace klab {
namespace {

#ifdef KLAB_HAVE_OPENBLAS

void run(const MatmulBwd::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  openblas_use_harness_threads();
  const blasint rows = blasint(m), columns = blasint(n), depth = blasint(k);
  // cblas rejects a matrix with rows of length 0: the empty sums are written here.
  if (n == 0) std::fill_n(x.d_a, m * k, 0.0F);
  if (m == 0) std::fill_n(x.d_b, k * n, 0.0F);
  if (m == 0 || n == 0 || k == 0) return;
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, depth, columns, 1.0F, x.d_c, columns, x.b,
              columns, 0.0F, x.d_a, depth);
  cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, depth, columns, rows, 1.0F, x.a, depth, x.d_c, columns,
              0.0F, x.d_b, columns);
}

std::string supported(const MatmulBwd::Shape& s, const Host&) {
  const int64_t largest = std::numeric_limits<blasint>::max();
  return std::max({s.m, s.n, s.k}) <= largest ? "" : "OpenBLAS takes dimensions below 2^31";
}

#else

void run(const MatmulBwd::Args<float>&) {}

std::string supported(const MatmulBwd::Shape&, const Host&) {
  return "OpenBLAS was not found when klab was built";
}

#endif

KLAB_VARIANT(MatmulBwd, {.run = run, .forward = "90_openblas", .peer = true, .supported = supported});

}  // namespace
}  // namespace klab
