// Where mlp_fwd turns: the kink of relu, one hidden layer or more.
#include <algorithm>

#include "reference/boundaries.h"
#include "reference/mlp_fwd/mlp_fwd.h"

namespace klab {
namespace {

using Args = MlpFwd::Args<double>;

/// Calls visit(sum, input) for each unit of the first hidden layer and the first samples.
void each_unit(const Args& a, auto&& visit) {
  const auto& s = a.shape;
  for (int64_t i = 0; i < std::min<int64_t>(s.n, 64); ++i)
    for (int64_t r = 0; r < s.width; ++r) {
      double sum = 0;
      for (int64_t c = 0; c < s.in; ++c) sum += a.weights[r * s.in + c] * a.x[c * s.n + i];
      visit(sum);
    }
}

const Boundary<MlpFwd> kRelu("sum and the kink of relu", {"x", "weights"}, {"v > 0 ?"}, kThreeSides,
                             [](const auto& a, Sides& met) {
                               each_unit(a, [&](double sum) { met.compare(sum, 0); });
                             });
const Boundary<MlpFwd> kLogistic("outputs pass through a logistic function", {"logistic"}, {}, kEither,
                                 [](const auto& a, Sides& met) { met.holds(a.shape.logistic != 0); });
const Boundary<MlpFwd> kDeep("hidden layers", {"hidden"}, {"layer < s.hidden"}, kOn | kAbove,
                             [](const auto& a, Sides& met) { met.compare(a.shape.hidden, 1); });
const NoBoundary<MlpFwd> kRest(
    {{"layer == 0 ?", "sizes of a layer: all shapes have a first and a last"},
     {"layer == hidden ?", "sizes of a layer: all shapes have a first and a last"},
     {"layer == 0)", "sizes of a layer: all shapes have a first and a last"},
     {"layer < layers() ?", "sizes of a layer: all shapes have a first and a last"},
     {"layer == layers() ?", "sizes of a layer: all shapes have a first and a last"}});

}  // namespace
}  // namespace klab
