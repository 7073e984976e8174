// Where matmul_bwd turns: zero times infinity, and gradients without terms.
#include <cmath>

#include "reference/boundaries.h"
#include "reference/matmul_bwd/matmul_bwd.h"

namespace klab {

const Boundary<MatmulBwd> kZeroInfinity("zero gradient times an infinite factor", {"d_c", "b"}, {}, kEither,
                                        [](const auto& x, Sides& met) {
                                          const auto [m, n, k] = x.shape;
                                          for (int64_t j = 0; j < n; ++j) {
                                            bool zero = false, infinite = false;
                                            for (int64_t i = 0; i < m; ++i)
                                              zero = zero || x.d_c[i * n + j] == 0;
                                            for (int64_t p = 0; p < k; ++p)
                                              infinite = infinite || std::isinf(x.b[p * n + j]);
                                            met.holds(zero && infinite);
                                          }
                                        });
const Boundary<MatmulBwd> kNoRows("rows", {"m"}, {}, kOn | kAbove, [](const auto& x, Sides& met) {
  if (x.shape.n > 0 && x.shape.k > 0) met.compare(x.shape.m, 0);
});
const Boundary<MatmulBwd> kNoColumns("columns", {"n"}, {}, kOn | kAbove, [](const auto& x, Sides& met) {
  if (x.shape.m > 0 && x.shape.k > 0) met.compare(x.shape.n, 0);
});

}  // namespace klab
