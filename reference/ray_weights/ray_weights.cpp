#include "reference/ray_weights/ray_weights.h"

#include <algorithm>

#include "reference/generator.h"

namespace klab {

void RayWeights::arrange(const Args<float>& x, Generator& random) {
  const Shape& s = x.shape;
  auto *marched = const_cast<int32_t*>(x.ray_begin), *begin = const_cast<int32_t*>(x.begin);
  const int64_t live = s.rays - int64_t(random() % 3) % (s.rays + 1);
  *const_cast<int32_t*>(x.count) = int32_t(live);
  const int64_t cut =
      random() % 2 ? s.rays : int64_t(random() % uint64_t(s.rays + 1));  // no ray is kept from here on
  for (int64_t r = 0; r < s.rays; ++r) {
    const auto n =
        int64_t(r < live && random() % 3
                    ? random() % uint64_t(std::min<int64_t>(s.max_samples, random.widely ? 700 : 9) + 1)
                    : 0);
    marched[r + 1] = marched[r] + int32_t(std::min<int64_t>(n, s.capacity - marched[r]));
    const int32_t limit = const_cast<int32_t*>(x.limit)[r] =
        random() % 3 ? 0x7F7F7F7F : int32_t(random() % (random.widely ? 600 : 4));
    begin[r + 1] = begin[r] + (r < cut ? std::min(limit, marched[r + 1] - marched[r]) : 0);
  }
}

void RayWeights::reference(const Args<double>& x, const Args<double>& magnitude) {
  const Shape& s = x.shape;
  const int32_t marched = x.ray_begin[s.rays];
  int64_t whole = *x.count;
  if (marched + s.max_samples > s.capacity)
    while (whole > 0 && x.ray_begin[whole - 1] == marched) --whole;
  for (int64_t r = 0; r < whole; ++r)
    if (x.begin[r + 1] - x.begin[r] != std::min(x.limit[r], x.ray_begin[r + 1] - x.ray_begin[r])) whole = r;
  *x.whole = int32_t(whole);
  for (int64_t r = 0; r < s.rays; ++r) x.weight[r] = magnitude.weight[r] = r < whole ? 1 / double(whole) : 0;
}

}  // namespace klab
