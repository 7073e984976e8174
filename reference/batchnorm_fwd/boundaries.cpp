// Where batchnorm_fwd turns: one value has no unbiased variance.
#include "reference/boundaries.h"
#include "reference/batchnorm_fwd/batchnorm_fwd.h"

namespace klab {

const Boundary<BatchnormFwd> kOne("values of a channel", {"n", "hw"}, {"N > 1 ?"}, kOn | kAbove,
                                  [](const auto& a, Sides& met) {
                                    met.compare(BatchnormFwd::count(a.shape), 1);
                                  });
const Boundary<BatchnormFwd> kMomentum("momentum", {"momentum"}, {}, kOn | kAbove,
                                       [](const auto& a, Sides& met) { met.compare(*a.momentum, 0); });
const NoBoundary<BatchnormFwd> kRest({{"k % hw", "an index: sizes draw every remainder"}});

}  // namespace klab
