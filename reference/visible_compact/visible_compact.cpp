#include "reference/visible_compact/visible_compact.h"

#include <algorithm>

#include "reference/generator.h"

namespace klab {

void VisibleCompact::arrange(const Args<float>& x, Generator& random) {
  const Shape& s = x.shape;
  auto *begin = const_cast<int32_t*>(x.begin), *visible = const_cast<int32_t*>(x.visible_begin);
  // The pass may begin far into its rays, and one of them may have more samples than 16 bits count.
  constexpr int64_t kMany = 1 << 16;
  const bool room = random.widely && std::min({s.looked, s.samples, s.most}) > kMany + 10'000;
  for (int64_t r = 0; r < s.rays; ++r) {
    // Samples of the ray; a few more: padding.
    const auto want = int64_t(random() % 3 ? random() % (random.widely ? 700 : 24) : 0) +
                      (s.first > 700 ? s.first : 0) + (room && r == s.rays / 2 ? kMany : 0);
    const int64_t n = std::min<int64_t>(s.looked - begin[r], std::clamp<int64_t>(want - s.first, 0, s.most));
    const int64_t counts = want - int64_t(random() % 3) + (random() % 8 == 0 ? 5 : 0);
    begin[r + 1] = begin[r] + int32_t(n);
    visible[r + 1] = visible[r] + int32_t(std::clamp<int64_t>(counts, 0, s.samples - visible[r]));
  }
}

void VisibleCompact::reference(const Args<double>& x, const Args<double>&) {
  const Shape& s = x.shape;
  for (int64_t row = 0; row < s.rows; ++row)
    for (int64_t r = 0; r < s.rays; ++r) {
      const int64_t n = x.visible_begin[r + 1] - x.visible_begin[r], had = x.begin[r + 1] - x.begin[r];
      for (int64_t i = s.first; i < std::min(n, s.first + s.most); ++i)
        x.target[row * s.samples + x.visible_begin[r] + i] =
            i - s.first < had ? x.source[row * s.looked + x.begin[r] + i - s.first] : 0;
    }
}

}  // namespace klab
