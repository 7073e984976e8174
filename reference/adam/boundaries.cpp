// Where adam turns: groups that are skipped, the first step, entries without a second moment.
#include <algorithm>
#include <cmath>

#include "reference/adam/adam.h"
#include "reference/boundaries.h"

namespace klab {
namespace {

using Wide = Adam::Args<double>;

/// Calls visit(begin, end) for each group.
void each_group(const Adam::Shape& s, auto&& visit) {
  for (int64_t begin = 0; begin < s.n; begin += s.group) visit(begin, std::min(s.n, begin + s.group));
}

bool all_zero(const double* from, const double* to) {
  return std::all_of(from, to, [](double g) { return g == 0; });
}

const Boundary<Adam> kSkipped("group of zeros", {"gradient"}, {"std::all_of(x.gradient", "g == 0"}, kEither,
                              [](const Wide& a, Sides& met) {
                                each_group(a.shape, [&](int64_t begin, int64_t end) {
                                  met.holds(all_zero(a.gradient + begin, a.gradient + end));
                                });
                              });
const Boundary<Adam> kMinusZero("-0 in a group of zeros", {"gradient"}, {}, kEither,
                                [](const Wide& a, Sides& met) {
                                  each_group(a.shape, [&](int64_t begin, int64_t end) {
                                    if (all_zero(a.gradient + begin, a.gradient + end))
                                      met.holds(std::any_of(a.gradient + begin, a.gradient + end,
                                                            [](double g) { return std::signbit(g); }));
                                  });
                                });
const Boundary<Adam> kOneDecides("one gradient alone keeps its group", {"gradient", "group"}, {}, kHolds,
                                 [](const Wide& a, Sides& met) {
                                   each_group(a.shape, [&](int64_t begin, int64_t end) {
                                     const auto zeros = std::count(a.gradient + begin, a.gradient + end, 0.0);
                                     if (end - begin > 1 && zeros == end - begin - 1) met.holds(true);
                                   });
                                 });
const Boundary<Adam> kCancelled("gradients of a group add up to zero", {"gradient", "group"}, {}, kHolds,
                                [](const Wide& a, Sides& met) {
                                  each_group(a.shape, [&](int64_t begin, int64_t end) {
                                    double sum = 0;
                                    for (int64_t i = begin; i < end; ++i) sum += a.gradient[i];
                                    if (sum == 0 && !all_zero(a.gradient + begin, a.gradient + end))
                                      met.holds(true);
                                  });
                                });
const Boundary<Adam> kShort("last group is short", {"n", "group"}, {"std::min(x.shape.n, begin"}, kEither,
                            [](const Wide& a, Sides& met) {
                              if (a.shape.n > a.shape.group) met.holds(a.shape.n % a.shape.group != 0);
                            });
const Boundary<Adam> kFirst("first step", {"steps"}, {}, kOn | kAbove, [](const Wide& a, Sides& met) {
  for (int64_t j = 0; j < Adam::groups(a.shape); ++j) met.compare(a.steps[j], 0);
});
const Boundary<Adam> kNoMoment(
    "no second moment", {"v", "gradient"}, {"x.v[i] > 0 ?"}, kOn | kAbove,
    [](const Wide& a, Sides& met) {
      for (int64_t i = 0; i < a.shape.n; ++i)
        if (a.gradient[i] != 0) met.compare(a.v[i], 0);
    },
    [](const auto& x, Generator& random) {
      for (int64_t i = 0; i < x.shape.n; ++i)
        if (random() % 4 == 0) x.v[i] = 0;
    });
const Boundary<Adam> kPenalty("no penalty", {"hyper"}, {}, kOn | kAbove,
                              [](const Wide& a, Sides& met) { met.compare(a.hyper[Adam::l2], 0); });
const NoBoundary<Adam> kRest({{"std::min(underflow",
                               "a bound of rounding errors, which no kernel computes"}});

}  // namespace
}  // namespace klab
