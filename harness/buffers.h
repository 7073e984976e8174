// Memory for tensors: aligned (or misaligned on purpose), fenced by sentinels, poisoned before a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/op.h"

namespace klab {

/// One tensor's bytes between two fences of known content. The first byte is 64-byte aligned plus `misalign`.
class Buffer {
 public:
  Buffer() = default;
  /// `bytes` may be 0. `misalign` is in bytes and must keep the element aligned.
  Buffer(int64_t bytes, int64_t misalign);

  void* data() const { return begin_; }
  int64_t bytes() const { return bytes_; }
  template <class T>
  T* as() const { return reinterpret_cast<T*>(begin_); }

  /// Fills with 0xFF: NaN as float or half, -1 as integer.
  void poison();
  /// True when both fences are as they were made. Otherwise says where they were written, in bytes from the
  /// beginning (negative) or the end (>= 0) of the data.
  bool intact(std::string* where) const;

 private:
  struct Free {
    size_t mapped = 0;
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte, Free> memory_{nullptr, Free{}};
  std::byte* begin_ = nullptr;
  int64_t bytes_ = 0;
};

/// The tensors of one op at one shape, as variants see them (float) or as the reference does (double).
class Tensors {
 public:
  enum class View { variant, reference };
  Tensors(const std::vector<TensorSpec>& specs, View view, int64_t misalign = 0);

  std::span<void* const> pointers() const { return pointers_; }
  Buffer& operator[](size_t i) { return buffers_[i]; }
  const Buffer& operator[](size_t i) const { return buffers_[i]; }
  size_t size() const { return buffers_.size(); }
  int64_t bytes() const;

 private:
  std::vector<Buffer> buffers_;
  std::vector<void*> pointers_;
};

}  // namespace klab
