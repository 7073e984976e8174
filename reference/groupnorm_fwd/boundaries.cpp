// Where groupnorm_fwd turns: groups of one value.
#include "reference/boundaries.h"
#include "reference/groupnorm_fwd/groupnorm_fwd.h"

namespace klab {

const Boundary<GroupnormFwd> kOne("values of a group", {"each", "hw"}, {}, kOn | kAbove,
                                  [](const auto& a, Sides& met) {
                                    met.compare(a.shape.each * a.shape.hw, 1);
                                  });
const NoBoundary<GroupnormFwd> kRest({{"i % groups", "an index: sizes draw every remainder"}});

}  // namespace klab
