// Where batchnorm_bwd turns: channels of one value.
#include "reference/boundaries.h"
#include "reference/batchnorm_bwd/batchnorm_bwd.h"

namespace klab {

const Boundary<BatchnormBwd> kOne("values of a channel", {"n", "hw"}, {}, kOn | kAbove,
                                  [](const auto& a, Sides& met) {
                                    met.compare(BatchnormFwd::count(a.shape), 1);
                                  });

}  // namespace klab
