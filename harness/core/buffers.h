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

/// One tensor's bytes between two fences of known content. The first byte is 64-byte aligned plus `misalign`.
/// The fences are NaN in every floating-point type, so that reading past an end spoils the result, and differ
/// from poison and from the fences of the tensors beside, so that copying past an end is seen as well.
class Buffer {
 public:
  Buffer() = default;
  /// `bytes` may be 0. `misalign` is in bytes and must keep the element aligned. `kin` tells apart the fences
  /// of tensors that are used together.
  Buffer(int64_t bytes, int64_t misalign, int kin = 0, GuardPlacement placement = GuardPlacement::fenced);

  void* data() const { return begin_; }
  int64_t bytes() const { return bytes_; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(begin_);
  }

  /// Fills with 0xFF: NaN as float or half, -1 as integer.
  void poison();
  /// True when both fences are as they were made. Otherwise says where they were written, in bytes from the
  /// beginning (negative) or the end (>= 0) of the data.
  bool intact(std::string* where) const;
  /// Of a guarded tensor: whether its pages may only be read. Others are left as they are.
  void read_only(bool yes);
  /// Where an address lies that is in none of the tensor's bytes but in its pages or the unmapped ones about them:
  /// "12 bytes beyond its end". Empty for an address elsewhere, and where the tensor is not guarded.
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
  uint8_t low_ = 0;               // of the fence's 16-bit pattern
};

/// The tensors of one op at one shape, as variants see them (float) or as the reference does (double).
class Tensors {
 public:
  enum class View { variant, reference };
  /// All tensors `misalign` bytes off alignment (twice that where f32 is widened).
  Tensors(const std::vector<TensorSpec>& specs, View view, int64_t misalign = 0);
  /// Tensor k begins `elements[k]` of its elements off alignment.
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
