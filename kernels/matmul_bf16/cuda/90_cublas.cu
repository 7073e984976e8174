// matmul_bf16.cuda.90_cublas: cuBLAS on the tensor cores, factors as they are stored.
//
// CHANGE    a vendor's product.
// EXPECT    the measure of 05_persistent, which should need no more than a twentieth longer at 2048 cubed.
// NUMERICS  bfloat16 factors, products summed in float.
// NEEDS     a GPU of compute capability 8.0, and libcublas next to its driver.
#include "harness/core/registrar.h"
#include "kernels/common/vendor/cublas.h"
#include "reference/matmul_bf16/matmul_bf16.h"

namespace klab {
namespace {

void run(const MatmulBf16::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  if (k == 0) return cuda::fill_zero(x.c, size_t(m * n) * sizeof(float));
  cublas::multiply(cublas::How::bf16_stored, m, n, k, x.a, x.b, x.c);
}

KLAB_VARIANT(MatmulBf16,
             {.run = run, .peer = true, .supported = [](const MatmulBf16::Shape&, const Host& host) {
                return cublas::supported(host, 80);
              }});

}  // namespace
}  // namespace klab
