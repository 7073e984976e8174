// Where nesterov turns: tensors without decay or parameters.
#include "reference/boundaries.h"
#include "reference/nesterov/nesterov.h"

namespace klab {
namespace {

using Args = Nesterov::Args<double>;

const Boundary<Nesterov> kDecay("no decay", {"hyper"}, {}, kOn | kAbove, [](const Args& a, Sides& met) {
  for (int64_t t = 0; t < a.shape.tensors; ++t)
    met.compare(a.hyper[t * optimizer::kHypers + optimizer::decay], 0);
});
const Boundary<Nesterov> kEmpty("tensor without parameters", {"n", "tensors"}, {}, kEither,
                                [](const Args& a, Sides& met) {
                                  for (int64_t t = 0; t < a.shape.tensors; ++t)
                                    met.holds(optimizer::begin_of(a.shape.n, a.shape.tensors, t) ==
                                              optimizer::begin_of(a.shape.n, a.shape.tensors, t + 1));
                                });

}  // namespace
}  // namespace klab
