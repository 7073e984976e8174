// Where groupnorm_bwd turns: groups of one value.
#include "reference/boundaries.h"
#include "reference/groupnorm_bwd/groupnorm_bwd.h"

namespace klab {

const Boundary<GroupnormBwd> kOne("values of a group", {"each", "hw"}, {}, kOn | kAbove,
                                  [](const auto& a, Sides& met) {
                                    met.compare(a.shape.each * a.shape.hw, 1);
                                  });
const NoBoundary<GroupnormBwd> kRest({{"i % groups", "an index: sizes draw every remainder"}});

}  // namespace klab
