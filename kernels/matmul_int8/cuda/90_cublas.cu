// matmul_int8.cuda.90_cublas: cuBLAS on the tensor cores, and a kernel for the scales.
//
// CHANGE    a vendor's product, of integers; sums go to memory and are scaled by a kernel behind it.
// EXPECT    the products near the peak of bytes, and eight bytes a result more than a kernel needs that
//           scales its own sums.
// NUMERICS  exact sums in 32 bits; a conversion and a product.
// NEEDS     a GPU of compute capability 8.0, libcublas next to its driver; n and k multiples of 4; device
//           memory for the sums.
#include "harness/core/registrar.h"
#include "kernels/common/matmul/scale_columns.h"
#include "kernels/common/vendor/cublas.h"
#include "reference/matmul_int8/matmul_int8.h"

namespace klab {
namespace {

void run(const MatmulInt8::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  if (k == 0) return cuda::fill_zero(x.c, size_t(m * n) * sizeof(float));
  cuda::Scratch sums(size_t(m * n) * sizeof(int));
  cublas::multiply(cublas::How::int8, m, n, k, x.a, x.b, sums.as<int>());
  scale_columns(sums.as<int>(), x.scale, x.c, m, n);
}

std::string supported(const MatmulInt8::Shape& s, const Host& host) {
  if (s.n % 4 != 0 || s.k % 4 != 0) return "needs columns and depths in fours";
  return cublas::supported(host, 80);
}

KLAB_VARIANT(MatmulInt8, {.run = run, .peer = true, .supported = supported});

}  // namespace
}  // namespace klab
