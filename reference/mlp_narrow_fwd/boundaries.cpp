// Where mlp_narrow_fwd turns: the kink of relu, one hidden layer or more, the three formats.
#include <algorithm>

#include "reference/boundaries.h"
#include "reference/mlp_narrow_fwd/mlp_narrow_fwd.h"

namespace klab {

const Boundary<MlpNarrowFwd> kRelu(
    "sum and the kink of relu", {"x", "halves", "bytes"}, {}, kThreeSides, [](const auto& a, Sides& met) {
      const auto& s = a.shape;
      for (int64_t i = 0; i < std::min<int64_t>(s.n, 64); ++i)
        for (int64_t r = 0; r < s.width; ++r) {
          double sum = 0;
          for (int64_t c = 0; c < s.in; ++c)
            sum += double(narrow_number(s.format, a.halves, a.bytes, r * s.in + c)) * a.x[c * s.n + i];
          met.compare(sum, 0);
        }
    });
const Boundary<MlpNarrowFwd> kLogistic("outputs pass through a logistic function", {"logistic"}, {}, kEither,
                                       [](const auto& a, Sides& met) { met.holds(a.shape.logistic != 0); });
const Boundary<MlpNarrowFwd> kDeep("hidden layers", {"hidden"}, {}, kOn | kAbove,
                                   [](const auto& a, Sides& met) { met.compare(a.shape.hidden, 1); });
const Boundary<MlpNarrowFwd> kFormat("format", {"format"}, {"x.shape.format == narrow_format::int8 ?"},
                                     kThreeSides, [](const auto& a, Sides& met) {
                                       met.compare(a.shape.format, narrow_format::bf16);
                                     });

}  // namespace klab
