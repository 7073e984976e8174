// Learned numbers that stay in fewer bits in memory, as the ops of pictures read them (reference/narrow_numbers.h).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "harness/program/memory.h"
#include "labs/radiance/field/codec.h"

namespace klab {

/// An array of zeros. A large one lies in huge pages, as an Array does; a small one does not, since a page of its own would take
/// more than what its numbers save.
template <class T>
class NarrowArray {
 public:
  NarrowArray() = default;
  explicit NarrowArray(int64_t count) : size_(count) {
    constexpr int64_t kLarge = 1 << 20;  // bytes
    if (count * int64_t(sizeof(T)) >= kLarge)
      large_ = Array<T>(count);
    else
      small_ = std::make_unique<T[]>(size_t(count));
  }

  T* data() const { return small_ ? small_.get() : large_.data(); }
  int64_t size() const { return size_; }
  int64_t bytes() const { return size_ * int64_t(sizeof(T)); }
  T& operator[](int64_t i) const { return data()[i]; }
  T* begin() const { return data(); }
  T* end() const { return data() + size_; }

 private:
  Array<T> large_;
  std::unique_ptr<T[]> small_;
  int64_t size_ = 0;
};

struct NarrowPart {
  NarrowArray<uint16_t> halves;  // of f16 and bf16
  NarrowArray<int8_t> bytes;     // of int8,
  NarrowArray<float> factors;    // and its scales

  NarrowPart() = default;
  /// Has room for numbers and, in int8, their factors.
  NarrowPart(Storage precision, int64_t numbers, int64_t factors);
  int64_t held() const { return halves.bytes() + bytes.bytes() + factors.bytes(); }
};

/// Returns whether a model can stay in that format in memory, in place of floats.
inline bool is_precision(Storage storage) { return storage <= Storage::int8; }
/// Returns the format's number in the ops that read it; -1 for floats.
int64_t narrow_format_of(Storage precision);

/// Rounds values into a part, from number `first` and factor `factor` on; each channel has one factor.
void narrow_into(NarrowPart& part, Storage precision, std::span<const float> values,
                 std::span<const Channel> channels, int64_t first, int64_t factor);
/// Writes a matrix of a part as floats, each rounded once.
void widen_rows(const NarrowPart& part, Storage precision, int64_t rows, int64_t columns, int64_t first,
                int64_t factor, float* out);

/// Returns whether 16 bits hold an infinity or NaN.
bool has_no_number(const NarrowPart& part, Storage precision);

/// Returns the rows of a matrix as channels.
std::vector<Channel> rows_of(int64_t rows, int64_t columns);

}  // namespace klab
