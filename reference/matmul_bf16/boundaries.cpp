// Where matmul_bf16 turns: zero times infinity, and sums without terms.
#include <cmath>

#include "reference/boundaries.h"
#include "reference/float16.h"
#include "reference/matmul_bf16/matmul_bf16.h"

namespace klab {

const Boundary<MatmulBf16> kZeroInfinity("zero times infinity", {"a", "b"}, {}, kEither,
                                         [](const auto& x, Sides& met) {
                                           const auto [m, n, k] = x.shape;
                                           for (int64_t p = 0; p < k; ++p) {
                                             bool zero = false, infinite = false;
                                             for (int64_t i = 0; i < m; ++i)
                                               zero = zero || float_from(x.a[i * k + p]) == 0;
                                             for (int64_t j = 0; j < n; ++j)
                                               infinite = infinite || std::isinf(float_from(x.b[p * n + j]));
                                             met.holds(zero && infinite);
                                           }
                                         });
const Boundary<MatmulBf16> kInner("terms of a sum", {"k"}, {}, kOn | kAbove, [](const auto& x, Sides& met) {
  if (x.shape.m > 0 && x.shape.n > 0) met.compare(x.shape.k, 0);
});

}  // namespace klab
