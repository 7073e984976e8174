// matmul.cuda.91_cublas_bf16: cuBLAS on the tensor cores.
//
// CHANGE    cublasGemmEx may round the factors to bf16 (CUBLAS_COMPUTE_32F_FAST_16BF).
// EXPECT    the measure of 10_mma_sync and 11_wgmma_tma: the same rounding, the same units.
// NUMERICS  factors rounded to bf16, products summed in float.
// NEEDS     a GPU of compute capability 8.0, and libcublas next to its driver.
#include "harness/core/registrar.h"
#include "kernels/common/vendor/cublas.h"
#include "reference/matmul/matmul.h"

namespace klab {
namespace {

void run(const Matmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  if (k == 0) return cuda::fill_zero(x.c, size_t(m * n) * sizeof(float));
  cublas::multiply(cublas::How::bf16, m, n, k, x.a, x.b, x.c);
}

KLAB_VARIANT(Matmul, {.run = run,
                      .numerics = {.unit = Unit::bf16},
                      .peer = true,
                      .supported = [](const Matmul::Shape&, const Host& host) {
                        return cublas::supported(host, 80);
                      }});

}  // namespace
}  // namespace klab
