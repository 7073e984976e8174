// Where sample_begin turns: passes over the later samples, room that is used up.
#include <algorithm>

#include "reference/boundaries.h"
#include "reference/sample_begin/sample_begin.h"

namespace klab {
namespace {

using Args = SampleBegin::Args<double>;

void each_length(const Args& a, auto&& visit) {
  for (int64_t r = 0; r < a.shape.rays; ++r)
    visit(std::min<int64_t>(a.limit[r], a.ray_begin[r + 1] - a.ray_begin[r]) - a.shape.first);
}

const Boundary<SampleBegin> kLimit(
    "samples of a ray and their limit", {"limit", "ray_begin"}, {"std::min<int64_t>(x.limit[r]"}, kThreeSides,
    [](const auto& a, Sides& met) {
      for (int64_t r = 0; r < a.shape.rays; ++r) met.compare(a.ray_begin[r + 1] - a.ray_begin[r], a.limit[r]);
    },
    [](const auto& x, Generator& random) {
      for (int64_t r = 0; r < x.shape.rays; ++r)
        if (random() % 2) drawn(x.limit[r]) = x.ray_begin[r + 1] - x.ray_begin[r];
    });
const Boundary<SampleBegin> kFirst("samples before the pass", {"first", "limit", "ray_begin"},
                                   {"std::clamp<int64_t>(all - s.first, 0, s.most)"}, kThreeSides,
                                   [](const auto& a, Sides& met) {
                                     each_length(a, [&](int64_t n) { met.compare(n, 0); });
                                   });
const Boundary<SampleBegin> kMost(
    "samples of a ray and the most of a pass", {"most", "limit", "ray_begin"}, {}, kThreeSides,
    [](const auto& a, Sides& met) { each_length(a, [&](int64_t n) { met.compare(n, a.shape.most); }); },
    [](const auto& x, Generator& random) {
      for (int64_t r = 0; r < x.shape.rays; ++r)
        if (random() % 2 && x.shape.first + x.shape.most < 1 << 30)
          drawn(x.limit[r]) = int32_t(x.shape.first + x.shape.most);
    });
const Boundary<SampleBegin> kRoom("samples so far and room", {"capacity", "limit", "ray_begin"},
                                  {"+ n > s.capacity"}, kThreeSides, [](const auto& a, Sides& met) {
                                    int64_t sum = 0;
                                    each_length(a, [&](int64_t n) {
                                      sum += std::clamp<int64_t>(n, 0, a.shape.most);
                                      met.compare(sum, a.shape.capacity);
                                    });
                                  });
const Boundary<SampleBegin> kDummies("rays without a pixel", {"count", "rays", "padded"}, {"none == 0"},
                                     kOn | kAbove, [](const auto& a, Sides& met) {
                                       if (a.shape.padded != 0) met.compare(a.shape.rays - *a.count, 0);
                                     });
const Boundary<SampleBegin> kPadded("rays without a pixel share the rest", {"padded"}, {}, kEither,
                                    [](const auto& a, Sides& met) { met.holds(a.shape.padded != 0); });

}  // namespace
}  // namespace klab
