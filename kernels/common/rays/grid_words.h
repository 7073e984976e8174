// Occupancy bits as words of four bytes, for kernels that gather them.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "reference/ray_march/ray_march.h"

namespace klab {

/// The bits of all cascades; copied where they do not begin at a word or do not fill the last one.
class GridWords {
 public:
  explicit GridWords(const RayMarch::Args<float>& x) {
    const RayMarch::Shape& s = x.shape;
    const int64_t bytes = s.cascades * s.grid * s.grid * s.grid / 8;
    if (bytes % 4 == 0 && reinterpret_cast<uintptr_t>(x.occupancy) % 4 == 0) {
      words_ = reinterpret_cast<const int32_t*>(x.occupancy);
      return;
    }
    copy_.resize(size_t(bytes + 3) / 4);
    std::memcpy(copy_.data(), x.occupancy, size_t(bytes));
    words_ = copy_.data();
  }
  const int32_t* data() const { return words_; }

 private:
  std::vector<int32_t> copy_;
  const int32_t* words_;
};

}  // namespace klab
