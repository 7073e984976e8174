// Where adamw turns: the first step, tensors without decay or parameters.
#include "reference/boundaries.h"
#include "reference/adamw/adamw.h"

namespace klab {
namespace {

using Args = Adamw::Args<double>;

const Boundary<Adamw> kDecay("no decay", {"hyper"}, {}, kOn | kAbove, [](const Args& a, Sides& met) {
  for (int64_t t = 0; t < a.shape.tensors; ++t)
    met.compare(a.hyper[t * optimizer::kHypers + optimizer::decay], 0);
});
const Boundary<Adamw> kEmpty("tensor without parameters", {"n", "tensors"}, {}, kEither,
                             [](const Args& a, Sides& met) {
                               for (int64_t t = 0; t < a.shape.tensors; ++t)
                                 met.holds(optimizer::begin_of(a.shape.n, a.shape.tensors, t) ==
                                           optimizer::begin_of(a.shape.n, a.shape.tensors, t + 1));
                             });

const Boundary<Adamw> kFirst("first step", {"steps"}, {}, kOn | kAbove, [](const Args& a, Sides& met) {
  for (int64_t t = 0; t < a.shape.tensors; ++t) met.compare(a.steps[t], 0);
});

}  // namespace
}  // namespace klab
