#include "reference/place_samples/place_samples.h"

#include <algorithm>
#include <cmath>

#include "reference/generator.h"

namespace klab {

void PlaceSamples::arrange(const Args<float>& x, Generator& random) {
  const Shape& s = x.shape;
  auto *begin = const_cast<int32_t*>(x.begin), *marched = const_cast<int32_t*>(x.ray_begin);
  // Some rays of the marched batch have no samples here, some have all, and the remaining samples belong to
  // no ray.
  // Where there is room for it, one ray has more samples than 16 bits count.
  constexpr int64_t kMany = 1 << 16;
  const int64_t long_ray = random.widely && s.samples > 2 * kMany && s.marched > 2 * kMany ? s.rays / 2 : -1;
  for (int64_t r = 0; r < s.rays; ++r) {
    const int64_t room = s.marched - marched[r], left = s.samples - begin[r];
    auto drawn = int64_t(random() % 3 ? random() % (random.widely ? 700 : 20) : 0);
    if (s.first > 700) drawn += s.first;  // the pass begins far into its rays
    if (r == long_ray) drawn += kMany;
    const int64_t all = std::min<int64_t>(room, drawn);
    const int64_t usable = std::max<int64_t>(0, all - s.first);
    marched[r + 1] = marched[r] + int32_t(all);
    // A few samples more than there are: padding.
    const int64_t n =
        std::min<int64_t>(left, usable - (usable > 2 && random() % 2) + (random() % 8 == 0 ? 3 : 0));
    begin[r + 1] = begin[r] + int32_t(n);
  }
  auto* volume = const_cast<float*>(x.volume);
  volume[0] = float(1 << random() % 4);
  volume[1] = random.widely && random() % 2 ? 1.0F : 0.0F;
}

void PlaceSamples::reference(const Args<double>& x, const Args<double>& magnitude) {
  const Shape& s = x.shape;
  const double side = x.volume[0];
  const GradedGrid graded = GradedGrid::of(side, x.volume[1] != 0);
  for (int64_t i = 0; i < 3 * s.samples; ++i) x.positions[i] = magnitude.positions[i] = 0.5;
  for (int64_t r = 0; r < s.rays; ++r)
    for (int64_t i = x.begin[r]; i < x.begin[r + 1]; ++i) {
      const int64_t from = x.ray_begin[r] + s.first + i - x.begin[r];
      if (from >= x.ray_begin[r + 1]) continue;
      for (int64_t axis = 0; axis < 3; ++axis) {
        const double o = x.origins[axis * s.rays + r], step = x.t[from] * x.directions[axis * s.rays + r];
        const double from_middle = o + step - 0.5;
        x.positions[axis * s.samples + i] =
            graded.even() ? std::clamp(0.5 + from_middle / side, 0.0, 1.0) : graded.place(from_middle);
        // No slope of a graded grid is below 2.
        magnitude.positions[axis * s.samples + i] =
            1 + (std::abs(o) + std::abs(step) + 0.5) / (graded.even() ? side : 2.0);
      }
    }
}

}  // namespace klab
