// matmul_fp8_tn.cuda.90_cublas: cublasLt on the tensor cores, and a kernel for the scales.
//
// CHANGE    a vendor's product, which takes both factors as they lie; its sums are scaled behind it.
// EXPECT    the products near the peak of bytes, and eight bytes a result more than a kernel needs that scales its own sums.
// NUMERICS  products of e4m3 in sums that are added up in float now and then (no "fast accumulation"); a product.
// NEEDS     a GPU of compute capability 8.9, libcublasLt next to its driver; m, n and k multiples of 16.
#include "harness/core/registrar.h"
#include "kernels/common/matmul/scale_columns.h"
#include "kernels/common/vendor/cublas_lt.h"
#include "reference/matmul_fp8_tn/matmul_fp8_tn.h"

namespace klab {
namespace {

void run(const MatmulFp8Tn::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  if (k == 0) return cuda::fill_zero(x.c, size_t(m * n) * sizeof(float));
  cublas_lt::multiply(m, n, k, x.a, x.b, x.c);
  scale_columns(x.c, x.scale, x.c, m, n);
}

std::string supported(const MatmulFp8Tn::Shape& s, const Host& host) {
  if (s.m % 16 != 0 || s.n % 16 != 0 || s.k % 16 != 0) return "needs rows, columns and depths in sixteens";
  return cublas_lt::supported(host);
}

KLAB_VARIANT(MatmulFp8Tn,
             {.run = run, .numerics = {.unit = Unit::f16}, .peer = true, .supported = supported});

}  // namespace
}  // namespace klab
