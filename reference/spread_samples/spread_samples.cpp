#include "reference/spread_samples/spread_samples.h"

#include <algorithm>

#include "reference/generator.h"

namespace klab {

void SpreadSamples::arrange(const Args<float>& x, Generator& random) {
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
    if (r == long_ray) drawn += kMany;
    const int64_t all = std::min<int64_t>(room, drawn);
    const int64_t usable = std::max<int64_t>(0, all - 0);
    marched[r + 1] = marched[r] + int32_t(all);
    // A few samples more than there are: padding.
    const int64_t n =
        std::min<int64_t>(left, usable - (usable > 2 && random() % 2) + (random() % 8 == 0 ? 3 : 0));
    begin[r + 1] = begin[r] + int32_t(n);
  }
}

void SpreadSamples::reference(const Args<double>& x, const Args<double>&) {
  const Shape& s = x.shape;
  for (int64_t i = 0; i < 3 * s.samples; ++i) x.sample_directions[i] = i >= 2 * s.samples;
  for (int64_t i = 0; i < s.samples; ++i) x.sample_t[i] = x.sample_delta[i] = 0;
  for (int64_t r = 0; r < s.rays; ++r)
    for (int64_t i = x.begin[r]; i < x.begin[r + 1]; ++i) {
      const int64_t from = x.ray_begin[r] + i - x.begin[r];
      if (from >= x.ray_begin[r + 1]) continue;
      for (int64_t axis = 0; axis < 3; ++axis)
        x.sample_directions[axis * s.samples + i] = x.directions[axis * s.rays + r];
      x.sample_t[i] = x.t[from];
      x.sample_delta[i] = x.delta[from];
    }
}

}  // namespace klab
