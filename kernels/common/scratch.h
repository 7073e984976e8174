// Memory that a kernel writes before it reads, kept between calls: packed panels, partial results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace klab {

/// Floats at a 64-byte boundary (a cache line, and the widest vector), grown when asked for more and never
/// shrunk.
class Scratch {
 public:
  /// At least `count` floats of unspecified content, until the next call. Throws std::bad_alloc.
  float* floats(int64_t count) {
    if (count > capacity_) {
      data_.reset();  // first, so that old and new are never held together
      capacity_ = 0;
      data_.reset(static_cast<float*>(::operator new(size_t(count) * sizeof(float), alignment)));
      capacity_ = count;
    }
    return data_.get();
  }

 private:
  static constexpr std::align_val_t alignment{64};
  struct Free {
    void operator()(float* p) const { ::operator delete(p, alignment); }
  };
  std::unique_ptr<float, Free> data_;
  int64_t capacity_ = 0;
};

}  // namespace klab
