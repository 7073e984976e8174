// Where ema turns: nothing is kept.
#include "reference/boundaries.h"
#include "reference/ema/ema.h"

namespace klab {
namespace {

using Args = Ema::Args<double>;

const Boundary<Ema> kKept("share that is kept", {"keep"}, {}, kOn | kAbove,
                          [](const Args& a, Sides& met) { met.compare(*a.keep, 0); });

}  // namespace
}  // namespace klab
