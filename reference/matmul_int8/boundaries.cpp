// Where matmul_int8 turns: the smallest factors, and sums beyond 24 bits.
#include "reference/boundaries.h"
#include "reference/matmul_int8/matmul_int8.h"

namespace klab {

const Boundary<MatmulInt8> kSmallest("-128 in both factors", {"a", "b"}, {}, kEither,
                                     [](const auto& x, Sides& met) {
                                       const auto [m, n, k] = x.shape;
                                       for (int64_t p = 0; p < k; ++p) {
                                         bool of_a = false, of_b = false;
                                         for (int64_t i = 0; i < m; ++i)
                                           of_a = of_a || x.a[i * k + p] == -128;
                                         for (int64_t j = 0; j < n; ++j)
                                           of_b = of_b || x.b[p * n + j] == -128;
                                         met.holds(of_a && of_b);
                                       }
                                     });
const Boundary<MatmulInt8> kExact("sum and the integers of a float", {"a", "b", "k"}, {}, kBelow | kAbove,
                                  [](const auto& x, Sides& met) {
                                    const auto [m, n, k] = x.shape;
                                    for (int64_t i = 0; i < m && n > 0; ++i) {
                                      int64_t sum = 0;
                                      for (int64_t p = 0; p < k; ++p)
                                        sum += int64_t{x.a[i * k + p]} * x.b[p * n];
                                      met.compare(sum < 0 ? -sum : sum, int64_t{1} << 24);
                                    }
                                  });

}  // namespace klab
