// Lines of rows of floats, requested before they are used.
#pragma once

#include <cstdint>

namespace klab {

/// Rows of `kTile` floats, some stride apart, that are needed soon: of up to three arrays, one after the other.
template <int64_t kTile>
class PrefetchRows {
 public:
  void add(const float* row, int64_t rows, int64_t stride, bool write) {
    if (rows > 0) ranges_[count_++] = {row, rows, stride, write};
  }
  /// Prefetches the next `rows` rows.
  void step(int64_t rows) {
    for (; rows > 0 && at_ < count_; --rows) {
      Range& range = ranges_[at_];
      // Lines' last floats: where a row does not begin on a line, its first line came with the tile before.
      for (int64_t t = kLine - 1; t < kTile; t += kLine) {
        if (range.write)
          __builtin_prefetch(range.row + t, 1);
        else
          __builtin_prefetch(range.row + t, 0);
      }
      range.row += range.stride;
      if (--range.rows == 0) ++at_;
    }
  }

 private:
  static constexpr int64_t kLine = 16;  // floats of a cache line
  struct Range {
    const float* row = nullptr;
    int64_t rows = 0, stride = 0;
    bool write = false;
  };
  Range ranges_[3];
  int count_ = 0, at_ = 0;
};

}  // namespace klab
