// matmul.cpu.91_onednn: oneDNN, a library of deep-learning primitives that writes its code when it runs.
//
// CHANGE    a vendor's library: dnnl_sgemm.
// EXPECT    close to the multiply-add peak at large sizes, and good at odd ones.
// NUMERICS  float, fused multiply-add where the machine has it.
// NEEDS     oneDNN when klab is built.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "harness/core/registrar.h"
#include "reference/matmul/matmul.h"
#ifdef KLAB_HAVE_ONEDNN
#include <dnnl.h>
#endif

namespace klab {
namespace {

#ifdef KLAB_HAVE_ONEDNN

// Its threads are OpenMP's, so it takes as many as the harness has set.
void run(const Matmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  if (k == 0) {  // a row of A has no length, which dnnl_sgemm refuses
    std::fill_n(x.c, m * n, 0.0F);
    return;
  }
  if (dnnl_sgemm('N', 'N', m, n, k, 1.0F, x.a, k, x.b, n, 0.0F, x.c, n) != dnnl_success)
    throw std::runtime_error("dnnl_sgemm failed");
}

std::string supported(const Matmul::Shape&, const Host&) { return ""; }

#else

void run(const Matmul::Args<float>&) {}

std::string supported(const Matmul::Shape&, const Host&) {
  return "oneDNN was not found when klab was built";
}

#endif

KLAB_VARIANT(Matmul, {.run = run, .peer = true, .supported = supported});

}  // namespace
}  // namespace klab
