// Where mlp_int8_fwd turns: the kink of relu, samples of zeros, one hidden layer or more.
#include <algorithm>

#include "reference/boundaries.h"
#include "reference/mlp_int8_fwd/mlp_int8_fwd.h"

namespace klab {

const Boundary<MlpInt8Fwd> kRelu("sum and the kink of relu", {"x", "bytes"}, {"v > 0 ?"}, kThreeSides,
                                 [](const auto& a, Sides& met) {
                                   const auto& s = a.shape;
                                   for (int64_t i = 0; i < std::min<int64_t>(s.n, 64); ++i)
                                     for (int64_t r = 0; r < s.width; ++r) {
                                       double sum = 0;
                                       for (int64_t c = 0; c < s.in; ++c)
                                         sum += a.bytes[r * s.in + c] * a.x[c * s.n + i];
                                       met.compare(sum, 0);
                                     }
                                 });
const Boundary<MlpInt8Fwd> kNone("a sample of zeros has no scale", {"x"}, {"in.largest <= double(kLeast)"},
                                 kEither, [](const auto& a, Sides& met) {
                                   const auto& s = a.shape;
                                   for (int64_t i = 0; i < s.n; ++i) {
                                     double largest = 0;
                                     for (int64_t c = 0; c < s.in; ++c)
                                       largest = std::max(largest, std::abs(a.x[c * s.n + i]));
                                     met.holds(largest == 0);
                                   }
                                 });
const Boundary<MlpInt8Fwd> kLogistic("outputs pass through a logistic function", {"logistic"}, {}, kEither,
                                     [](const auto& a, Sides& met) { met.holds(a.shape.logistic != 0); });
const Boundary<MlpInt8Fwd> kDeep("hidden layers", {"hidden"}, {"layer < s.hidden"}, kOn | kAbove,
                                 [](const auto& a, Sides& met) { met.compare(a.shape.hidden, 1); });
const NoBoundary<MlpInt8Fwd> kRest(
    {{"std::max(largest, std::abs(h[c]))", "the scale of a sample: every sample has a largest number"},
     {"std::max(most_off, m[c])", "a bound of rounding errors, which no kernel computes"},
     {"off >= 0.5 - std::abs(v - q)", "a bound of rounding errors, which no kernel computes"},
     {"in.largest <= 1.01 * double(kLeast)", "a bound of rounding errors, which no kernel computes"},
     {"kGrowth * in.most_off >= in.largest", "a bound of rounding errors, which no kernel computes"}});

}  // namespace klab
