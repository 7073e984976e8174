// matmul.cuda.90_cublas: cuBLAS, NVIDIA's library, in float.
//
// CHANGE    a vendor's library: cublasGemmEx with float sums and float factors.
// EXPECT    close to the multiply-add peak from a thousand upwards; no tensor cores.
// NUMERICS  float, fused multiply-add.
// NEEDS     a GPU, and libcublas next to its driver.
#include "harness/core/registrar.h"
#include "kernels/common/vendor/cublas.h"
#include "reference/matmul/matmul.h"

namespace klab {
namespace {

void run(const Matmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  if (k == 0) return cuda::fill_zero(x.c, size_t(m * n) * sizeof(float));
  cublas::multiply(cublas::How::plain, m, n, k, x.a, x.b, x.c);
}

KLAB_VARIANT(Matmul, {.run = run, .peer = true, .supported = [](const Matmul::Shape&, const Host& host) {
                        return cublas::supported(host);
                      }});

}  // namespace
}  // namespace klab
