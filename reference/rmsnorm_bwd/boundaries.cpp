// Where rmsnorm_bwd turns: rows of one value.
#include "reference/boundaries.h"
#include "reference/rmsnorm_bwd/rmsnorm_bwd.h"

namespace klab {
namespace {

using Args = RmsnormBwd::Args<double>;

const Boundary<RmsnormBwd> kOne("values of a row", {"c"}, {}, kOn | kAbove,
                                [](const Args& a, Sides& met) { met.compare(a.shape.c, 1); });

}  // namespace
}  // namespace klab
