// Where weighted_sum turns: rays whose loss does not count.
#include "reference/boundaries.h"
#include "reference/weighted_sum/weighted_sum.h"

namespace klab {

const Boundary<WeightedSum> kZero("weight of a loss that is not zero", {"weight", "value"}, {}, kThreeSides,
                                  [](const auto& x, Sides& met) {
                                    for (int64_t i = 0; i < x.shape.n; ++i)
                                      if (x.value[i] != 0) met.compare(x.weight[i], 0);
                                  });

const Boundary<WeightedSum> kBefore(
    "sum before", {"sum"}, {}, kThreeSides, [](const auto& x, Sides& met) { met.compare(*x.sum, 0); },
    [](const auto& x, Generator& random) { *x.sum = random() % 2 ? 0.0F : -0.0F; });

}  // namespace klab
