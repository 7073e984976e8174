// Memory for tensors: aligned (or misaligned on purpose), fenced by sentinels, poisoned before a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/core/guarded.h"
#include "harness/core/op.h"

namespace klab {

/// The bytes of one tensor between two fences of known contents. The first byte is 64-byte aligned plus
/// `misalign`. The fences are NaN in every floating-point type, so reading past an end spoils the result.
/// They differ from poison and from the fences of neighboring tensors, so copying past an end is noticed too.
class Buffer {
 public:
  Buffer() = default;
  /// `bytes` may be 0. `misalign` is in bytes and must keep elements aligned. `kin` selects distinct fences
  /// for tensors that are used together.
  Buffer(int64_t bytes, int64_t misalign, int kin = 0, GuardPlacement placement = GuardPlacement::fenced);

  void* data() const { return begin_; }
  int64_t bytes() const { return bytes_; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(begin_);
  }

  /// Fills with 0xFF: NaN as float or half, -1 as integer.
  void poison();
  /// Returns true if both fences are intact. Otherwise `where` says where they were written, in bytes from
  /// the beginning (negative) or the end (>= 0) of the data.
  bool intact(std::string* where) const;
  /// Makes the pages of a guarded tensor read-only or writable. Has no effect on other tensors.
  void read_only(bool yes);
  /// Describes an address outside the tensor's bytes but in its pages or the unmapped ones around them: "12
  /// bytes beyond its end". Empty for other addresses, and if the tensor is not guarded.
  std::string place_of(const std::byte* at) const;
  bool holds(const std::byte* at) const { return at >= begin_ && at < begin_ + bytes_; }

 private:
  struct Free {
    size_t mapped = 0;
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte, Free> memory_{nullptr, Free{}};
  std::byte mark(const std::byte* at) const;
  const std::byte* marks(const std::byte* at) const;

  std::unique_ptr<GuardedPages> pages_;  // null in ordinary memory
  std::byte* begin_ = nullptr;
  int64_t bytes_ = 0;
  int64_t front_ = 0, back_ = 0;  // bytes of the fences
  uint8_t low_ = 0;               // low byte of the fence's 16-bit pattern
};

/// The tensors of one op at one shape, as variants see them (float) or as the reference does (double).
class Tensors {
 public:
  enum class View { variant, reference };
  /// Creates tensors that are all `misalign` bytes off alignment (twice that if f32 is widened).
  Tensors(const std::vector<TensorSpec>& specs, View view, int64_t misalign = 0);
  /// Creates tensors of which number k begins `elements[k]` of its elements off alignment.
  Tensors(const std::vector<TensorSpec>& specs, View view, std::span<const int64_t> elements,
          GuardPlacement placement = GuardPlacement::fenced);

  std::span<void* const> pointers() const { return pointers_; }
  Buffer& operator[](size_t i) { return buffers_[i]; }
  const Buffer& operator[](size_t i) const { return buffers_[i]; }
  size_t size() const { return buffers_.size(); }
  int64_t bytes() const;

 private:
  void add(const TensorSpec& spec, View view, int64_t off, GuardPlacement placement);

  std::vector<Buffer> buffers_;
  std::vector<void*> pointers_;
};

}  // namespace klab
