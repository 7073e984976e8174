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
namespace {

double largest_of(const auto& a, int64_t sample) {
  double largest = 0;
  for (int64_t c = 0; c < a.shape.in; ++c)
    largest = std::max(largest, double(std::abs(a.x[c * a.shape.n + sample])));
  return largest;
}

}  // namespace

const Boundary<MlpInt8Fwd> kNone(
    "largest of a sample and the least that has a scale", {"x"}, {"in.largest <= double(kLeast)"},
    kThreeSides,
    [](const auto& a, Sides& met) {
      for (int64_t i = 0; i < a.shape.n; ++i) met.compare(largest_of(a, i), double(MlpInt8Fwd::kLeast));
    },
    [](const auto& x, Generator& random) {
      for (int64_t i = 0; i < x.shape.n; ++i) {
        const double largest = largest_of(x, i);
        if (random() % 2 == 0 || largest == 0) continue;
        // Just the least, or far below it.
        const double by = MlpInt8Fwd::kLeast * (random() % 2 ? 1 : 0.025) / largest;
        for (int64_t c = 0; c < x.shape.in; ++c) {
          float& v = drawn(x.x[c * x.shape.n + i]);
          v = float(v * by);
        }
      }
    });
const Boundary<MlpInt8Fwd> kZeros("a sample of zeros", {"x"}, {}, kEither, [](const auto& a, Sides& met) {
  for (int64_t i = 0; i < a.shape.n; ++i) met.holds(largest_of(a, i) == 0);
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
