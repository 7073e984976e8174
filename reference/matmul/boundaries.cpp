// Where matmul turns: zero times infinity, and sums without terms.
#include <cmath>

#include "reference/boundaries.h"
#include "reference/matmul/matmul.h"

namespace klab {

const Boundary<Matmul> kZeroInfinity("zero times infinity", {"a", "b"}, {}, kEither,
                                     [](const auto& x, Sides& met) {
                                       const auto [m, n, k] = x.shape;
                                       for (int64_t p = 0; p < k; ++p) {
                                         bool zero = false, infinite = false;
                                         for (int64_t i = 0; i < m; ++i) zero = zero || x.a[i * k + p] == 0;
                                         for (int64_t j = 0; j < n; ++j)
                                           infinite = infinite || std::isinf(x.b[p * n + j]);
                                         met.holds(zero && infinite);
                                       }
                                     });
const Boundary<Matmul> kInner("terms of a sum", {"k"}, {}, kOn | kAbove, [](const auto& x, Sides& met) {
  if (x.shape.m > 0 && x.shape.n > 0) met.compare(x.shape.k, 0);
});
const NoBoundary<Matmul> kRest({{"std::min(n_block", "blocks of the reference"},
                                {"std::max<int64_t>(1, std::thread", "shares the reference out to threads"},
                                {"std::clamp<int64_t>(int64_t(products",
                                 "shares the reference out to threads"},
                                {"std::min(processors", "shares the reference out to threads"},
                                {"std::max<int64_t>(m, 1)", "shares the reference out to threads"}});

}  // namespace klab
