// Where sgd turns: tensors without decay or parameters.
#include "reference/boundaries.h"
#include "reference/sgd/sgd.h"

namespace klab {
namespace {

using Args = Sgd::Args<double>;

const Boundary<Sgd> kDecay("no decay", {"hyper"}, {}, kOn | kAbove, [](const Args& a, Sides& met) {
  for (int64_t t = 0; t < a.shape.tensors; ++t)
    met.compare(a.hyper[t * optimizer::kHypers + optimizer::decay], 0);
});
const Boundary<Sgd> kEmpty("tensor without parameters", {"n", "tensors"}, {"t >= tensors ?"}, kEither,
                           [](const Args& a, Sides& met) {
                             for (int64_t t = 0; t < a.shape.tensors; ++t)
                               met.holds(optimizer::begin_of(a.shape.n, a.shape.tensors, t) ==
                                         optimizer::begin_of(a.shape.n, a.shape.tensors, t + 1));
                           });

const NoBoundary<Sgd> kRest({{"v > 0 ?", "a bound of rounding errors, which no kernel computes"},
                             {"underflow < 1 ?", "a bound of rounding errors, which no kernel computes"}});

}  // namespace
}  // namespace klab
