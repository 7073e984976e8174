// Large arrays: zeroed, 64-byte aligned, in huge pages where the system grants them, since tables are read at
// random.
#pragma once

#include <cstdint>
#include <memory>

namespace klab {

template <class T>
class Array {
 public:
  Array() = default;
  /// Throws std::bad_alloc when the system has no room.
  explicit Array(int64_t count);

  T* data() const { return memory_.get(); }
  int64_t size() const { return size_; }
  int64_t bytes() const { return size_ * int64_t(sizeof(T)); }
  T& operator[](int64_t i) const { return memory_.get()[i]; }
  T* begin() const { return data(); }
  T* end() const { return data() + size_; }

 private:
  struct Unmap {
    int64_t bytes = 0;
    void operator()(T* p) const;
  };
  std::unique_ptr<T, Unmap> memory_{nullptr, Unmap{}};
  int64_t size_ = 0;
};

extern template class Array<float>;
extern template class Array<int32_t>;
extern template class Array<uint8_t>;

}  // namespace klab
