// Where momentum turns: the first step, averages that are corrected, tensors without decay or parameters.
#include "reference/boundaries.h"
#include "reference/momentum/momentum.h"

namespace klab {
namespace {

using Args = Momentum::Args<double>;

const Boundary<Momentum> kDecay("no decay", {"hyper"}, {}, kOn | kAbove, [](const Args& a, Sides& met) {
  for (int64_t t = 0; t < a.shape.tensors; ++t)
    met.compare(a.hyper[t * optimizer::kHypers + optimizer::decay], 0);
});
const Boundary<Momentum> kEmpty("tensor without parameters", {"n", "tensors"}, {}, kEither,
                                [](const Args& a, Sides& met) {
                                  for (int64_t t = 0; t < a.shape.tensors; ++t)
                                    met.holds(optimizer::begin_of(a.shape.n, a.shape.tensors, t) ==
                                              optimizer::begin_of(a.shape.n, a.shape.tensors, t + 1));
                                });

const Boundary<Momentum> kFirst("first step", {"steps"}, {}, kOn | kAbove, [](const Args& a, Sides& met) {
  for (int64_t t = 0; t < a.shape.tensors; ++t) met.compare(a.steps[t], 0);
});

const Boundary<Momentum> kCorrected("average is corrected", {"corrected", "steps"},
                                    {"x.shape.corrected != 0"}, kEither,
                                    [](const Args& a, Sides& met) { met.holds(a.shape.corrected != 0); });

}  // namespace
}  // namespace klab
