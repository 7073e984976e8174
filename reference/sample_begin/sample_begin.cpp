#include "reference/sample_begin/sample_begin.h"

#include <algorithm>

#include "reference/generator.h"

namespace klab {

void SampleBegin::arrange(const Args<float>& x, Generator& random) {
  auto* begin = const_cast<int32_t*>(x.ray_begin);
  const int64_t live = x.shape.rays - int64_t(random() % 5) % (x.shape.rays + 1);
  *const_cast<int32_t*>(x.count) = int32_t(live);
  const uint64_t longest = random.widely ? 1500 : 40;
  // A pass may begin far into the rays, and where there is room for it, one ray has more samples than 16 bits count.
  constexpr int64_t kMany = 1 << 16, kFarthest = 1 << 20;
  const int64_t before = x.shape.first > 1500 && x.shape.first < kFarthest ? x.shape.first : 0;
  const int64_t long_ray = x.shape.most > kMany && x.shape.capacity > 2 * kMany ? live / 2 : -1;
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    auto n = int64_t(r < live && random() % 4 != 0 ? random() % longest : 0);
    const_cast<int32_t*>(x.limit)[r] = random() % 2 ? int32_t(random() % longest) : 0x7F7F7F7F;
    if (r == long_ray && r < live) {
      n = kMany + 1 + int64_t(random() % 100);
      const_cast<int32_t*>(x.limit)[r] = 0x7F7F7F7F;
    }
    if (before > 0) {
      n += before;
      if (x.limit[r] < kFarthest) const_cast<int32_t*>(x.limit)[r] += int32_t(before);
    }
    begin[r + 1] = begin[r] + int32_t(r < live ? n : 0);
  }
}

void SampleBegin::reference(const Args<double>& x, const Args<double>&) {
  const Shape& s = x.shape;
  x.begin[0] = 0;
  bool full = false;
  for (int64_t r = 0; r < s.rays; ++r) {
    const int64_t all = std::min<int64_t>(x.limit[r], x.ray_begin[r + 1] - x.ray_begin[r]);
    const int64_t n = std::clamp<int64_t>(all - s.first, 0, s.most);
    full = full || x.begin[r] + n > s.capacity;
    x.begin[r + 1] = x.begin[r] + int32_t(full ? 0 : n);
  }
  const int64_t from = *x.count, left = s.capacity - x.begin[s.rays], none = s.rays - from;
  if (!s.padded || none == 0) return;
  for (int64_t j = 1; j <= none; ++j) x.begin[from + j] = int32_t(x.begin[from] + left * j / none);
}

}  // namespace klab
