// matmul_bwd.cpu.91_onednn: the gradients as two calls of oneDNN.
//
// CHANGE    a vendor's library: dnnl_sgemm with its transposition flags.
// EXPECT    twice the forward's time.
// NUMERICS  float, fused multiply-add where the machine has it.
// NEEDS     oneDNN when klab is built.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "harness/core/registrar.h"
#include "reference/matmul_bwd/matmul_bwd.h"
#ifdef KLAB_HAVE_ONEDNN
#include <dnnl.h>
#endif

namespace klab {
namespace {

#ifdef KLAB_HAVE_ONEDNN

// Its threads are OpenMP's, so it takes as many as the harness has set.
void run(const MatmulBwd::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  // dnnl_sgemm rejects a matrix with rows of length 0: the empty sums are written here.
  if (n == 0) std::fill_n(x.d_a, m * k, 0.0F);
  if (m == 0) std::fill_n(x.d_b, k * n, 0.0F);
  if (m == 0 || n == 0 || k == 0) return;
  if (dnnl_sgemm('N', 'T', m, k, n, 1.0F, x.d_c, n, x.b, n, 0.0F, x.d_a, k) != dnnl_success ||
      dnnl_sgemm('T', 'N', k, n, m, 1.0F, x.a, k, x.d_c, n, 0.0F, x.d_b, n) != dnnl_success)
    throw std::runtime_error("dnnl_sgemm failed");
}

std::string supported(const MatmulBwd::Shape&, const Host&) { return ""; }

#else

void run(const MatmulBwd::Args<float>&) {}

std::string supported(const MatmulBwd::Shape&, const Host&) {
  return "oneDNN was not found when klab was built";
}

#endif

KLAB_VARIANT(MatmulBwd, {.run = run, .forward = "91_onednn", .peer = true, .supported = supported});

}  // namespace
}  // namespace klab
