// Where clip_norm turns: gradients as long as the limit.
#include <cmath>

#include "reference/boundaries.h"
#include "reference/clip_norm/clip_norm.h"

namespace klab {
namespace {

using Args = ClipNorm::Args<double>;

double length_of(const Args& a) {
  double squares = 0;
  for (int64_t i = 0; i < a.shape.n; ++i) squares += a.gradient[i] * a.gradient[i];
  return std::sqrt(squares);
}

const Boundary<ClipNorm> kLimit(
    "length and limit", {"gradient", "limit"}, {"*x.norm > *x.limit"}, kThreeSides,
    [](const auto& a, Sides& met) { met.compare(length_of(a), *a.limit); },
    [](const auto& x, Generator& random) {
      for (int64_t i = 0; i < x.shape.n; ++i) x.gradient[i] = 0;
      if (x.shape.n > 0) x.gradient[random() % uint64_t(x.shape.n)] = *x.limit;
    });
const Boundary<ClipNorm> kNone(
    "length", {"gradient"}, {}, kOn | kAbove, [](const auto& a, Sides& met) { met.compare(length_of(a), 0); },
    [](const auto& x, Generator&) {
      for (int64_t i = 0; i < x.shape.n; ++i) x.gradient[i] = 0;
    });
/// Gives all entries about that size.
void all_about(const auto& x, Generator& random, int exponent) {
  for (int64_t i = 0; i < x.shape.n; ++i)
    x.gradient[i] =
        std::ldexp(float(random() % 2048) * 0x1p-11F + 1, exponent) * (random() % 2 ? 1.0F : -1.0F);
}

const Boundary<ClipNorm> kLargeSquare(
    "largest float and the square of an entry", {"gradient"}, {}, kEither,
    [](const Args& a, Sides& met) {
      for (int64_t i = 0; i < a.shape.n; ++i) met.holds(std::abs(a.gradient[i]) >= 0x1p64);
    },
    [](const auto& x, Generator& random) { all_about(x, random, 70); });
const Boundary<ClipNorm> kSmallSquare(
    "smallest float and the square of an entry", {"gradient"}, {}, kEither,
    [](const Args& a, Sides& met) {
      for (int64_t i = 0; i < a.shape.n; ++i)
        if (a.gradient[i] != 0) met.holds(std::abs(a.gradient[i]) < 0x1p-75);
    },
    [](const auto& x, Generator& random) { all_about(x, random, -80); });

}  // namespace
}  // namespace klab
