// Memory of containers other than Array, counted for an owner.
#pragma once

#include <cstdint>
#include <vector>

namespace klab {

/// Counts bytes for the owner that the thread has when this object is made (MemoryOwner), until it is destroyed.
class CountedBytes {
 public:
  CountedBytes();
  ~CountedBytes();
  CountedBytes(const CountedBytes&) = delete;
  CountedBytes& operator=(const CountedBytes&) = delete;

  /// Replaces the number of bytes. The owner's peak is the largest sum that it ever had.
  void set(int64_t bytes);

 private:
  int owner_;
  int64_t bytes_ = 0;
};

/// Returns the bytes that vectors have reserved.
template <class... T>
int64_t reserved_bytes(const std::vector<T>&... vectors) {
  return (int64_t(vectors.capacity() * sizeof(T)) + ... + 0);
}

}  // namespace klab
