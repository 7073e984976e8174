#include "reference/matmul_bwd/matmul_bwd.h"

#include <vector>

namespace klab {
namespace {

/// The [columns,rows] transpose of a [rows,columns] matrix.
std::vector<double> transposed(const double* matrix, int64_t rows, int64_t columns) {
  std::vector<double> t(size_t(rows * columns));
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) t[size_t(c * rows + r)] = matrix[r * columns + c];
  return t;
}

}  // namespace

void MatmulBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const auto [m, n, k] = x.shape;
  const std::vector<double> b_t = transposed(x.b, k, n);  // [n,k]
  const std::vector<double> a_t = transposed(x.a, m, k);  // [k,m]
  Matmul::reference({{m, k, n}, x.d_c, b_t.data(), x.d_a}, {{m, k, n}, nullptr, nullptr, magnitude.d_a});
  Matmul::reference({{k, n, m}, a_t.data(), x.d_c, x.d_b}, {{k, n, m}, nullptr, nullptr, magnitude.d_b});
}

}  // namespace klab
