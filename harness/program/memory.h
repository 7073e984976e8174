// Large arrays: zeroed, 64-byte aligned, in huge pages where the system grants them, since tables are read at
// random.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace klab {

/// Bytes of one owner: as they are, and as they were at most.
struct OwnedBytes {
  int64_t now = 0, peak = 0;
};

/// What large memory is counted for: Arrays that a thread makes while it has one of these belong to `name`, which must be a
/// literal. Without one they belong to "other". The innermost counts.
class MemoryOwner {
 public:
  explicit MemoryOwner(const char* name);
  ~MemoryOwner();
  MemoryOwner(const MemoryOwner&) = delete;
  MemoryOwner& operator=(const MemoryOwner&) = delete;

 private:
  int before_;
};

/// Every owner that has ever had an Array, with what it has.
std::map<std::string, OwnedBytes> memory_by_owner();
/// Resets the peaks.
void forget_memory_peaks();

/// Called ahead of every large allocation with its bytes, Arrays and memory of Backends alike; what it throws is thrown
/// there, as if the system had refused. For tests of what a program does then. Empty: nothing is called.
void set_allocation_hook(std::function<void(int64_t bytes)> hook);
/// The place where the hook is called. Throws what the hook throws.
void announce_allocation(int64_t bytes);

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
    int owner = 0;
    void operator()(T* p) const;
  };
  std::unique_ptr<T, Unmap> memory_{nullptr, Unmap{}};
  int64_t size_ = 0;
};

extern template class Array<float>;
extern template class Array<int32_t>;
extern template class Array<uint8_t>;

}  // namespace klab
