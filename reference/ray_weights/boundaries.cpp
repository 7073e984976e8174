// Where ray_weights turns: batches that are full, rays that are cut.
#include <algorithm>

#include "reference/boundaries.h"
#include "reference/ray_weights/ray_weights.h"

namespace klab {

const Boundary<RayWeights> kFull(
    "room for another ray", {"ray_begin", "max_samples", "capacity"},
    {"marched + s.max_samples > s.capacity"}, kThreeSides,
    [](const auto& a, Sides& met) {
      met.compare(a.ray_begin[a.shape.rays] + a.shape.max_samples, a.shape.capacity);
    },
    [](const auto& x, Generator&) {
      const int64_t room = x.shape.capacity - x.shape.max_samples;
      if (room < 0 || x.shape.rays == 0 || x.ray_begin[x.shape.rays] == room) return;
      for (int64_t r = 0; r <= x.shape.rays; ++r)
        drawn(x.ray_begin[r]) = int32_t(std::min<int64_t>(x.ray_begin[r], room));
      drawn(x.ray_begin[x.shape.rays]) = int32_t(room);
      for (int64_t r = 0; r < x.shape.rays; ++r)
        drawn(x.begin[r + 1]) = x.begin[r] + std::min(x.limit[r], x.ray_begin[r + 1] - x.ray_begin[r]);
    });
const Boundary<RayWeights> kCut("ray begins where the batch ends", {"ray_begin", "count"},
                                {"whole > 0 &&", "x.ray_begin[whole - 1] == marched"}, kEither,
                                [](const auto& a, Sides& met) {
                                  for (int64_t r = 0; r < *a.count; ++r)
                                    met.holds(a.ray_begin[r] == a.ray_begin[a.shape.rays]);
                                });
const Boundary<RayWeights> kLimit(
    "samples of a ray and their limit", {"limit", "ray_begin"}, {"!= std::min(x.limit[r], x.ray"},
    kThreeSides,
    [](const auto& a, Sides& met) {
      for (int64_t r = 0; r < a.shape.rays; ++r) met.compare(a.ray_begin[r + 1] - a.ray_begin[r], a.limit[r]);
    },
    [](const auto& x, Generator&) {
      for (int64_t r = 0; r < x.shape.rays; ++r) drawn(x.limit[r]) = x.ray_begin[r + 1] - x.ray_begin[r];
      for (int64_t r = 0; r < x.shape.rays; ++r) drawn(x.begin[r + 1]) = x.begin[r] + x.limit[r];
    });
const Boundary<RayWeights> kWhole("ray is cut short", {"begin", "limit", "ray_begin"}, {}, kEither,
                                  [](const auto& a, Sides& met) {
                                    for (int64_t r = 0; r < *a.count; ++r)
                                      met.holds(a.begin[r + 1] - a.begin[r] !=
                                                std::min(a.limit[r], a.ray_begin[r + 1] - a.ray_begin[r]));
                                  });
const Boundary<RayWeights> kCount("count and rays", {"count", "rays"}, {"r < whole ?"}, kBelow | kOn,
                                  [](const auto& a, Sides& met) {
                                    met.compare(int64_t{*a.count}, a.shape.rays);
                                  });

}  // namespace klab
