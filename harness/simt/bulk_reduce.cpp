#include "harness/simt/bulk_reduce.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace klab::simt {
namespace {

template <class T>
T combined(BulkReduce how, T old, T value) {
  switch (how) {
    case BulkReduce::add:
      if constexpr (std::is_integral_v<T>)
        return T(std::make_unsigned_t<T>(old) + std::make_unsigned_t<T>(value));
      return T(old + value);
    case BulkReduce::min:
      return std::min(old, value);
    case BulkReduce::max:
      return std::max(old, value);
    case BulkReduce::inc:
      return old >= value ? T(0) : T(old + 1);
    case BulkReduce::dec:
      return old == T(0) || old > value ? value : T(old - 1);
    default:
      break;
  }
  if constexpr (std::is_integral_v<T>)
    return T(how == BulkReduce::bit_and  ? old & value
             : how == BulkReduce::bit_or ? old | value
                                         : old ^ value);
  return old;
}

template <class T>
void each(char* to, const char* from, size_t bytes, BulkReduce how) {
  for (size_t at = 0; at < bytes; at += sizeof(T)) {
    T old, value;
    std::memcpy(&old, to + at, sizeof(T));
    std::memcpy(&value, from + at, sizeof(T));
    old = combined(how, old, value);
    std::memcpy(to + at, &old, sizeof(T));
  }
}

void each_half(char* to, const char* from, size_t bytes, BulkReduce how, bool bfloat16) {
  for (size_t at = 0; at < bytes; at += 2) {
    uint16_t old, value;
    std::memcpy(&old, to + at, 2);
    std::memcpy(&value, from + at, 2);
    const auto wide = [&](uint16_t x) { return bfloat16 ? float_from_bfloat16(x) : float_from_half(x); };
    const float sum = combined(how, wide(old), wide(value));
    old = bfloat16 ? bfloat16_from_float(sum) : half_from_float(sum);
    std::memcpy(to + at, &old, 2);
  }
}

}  // namespace

const char* no_reduction(BulkReduce how, BulkType type) {
  const bool halves = type == BulkType::f16 || type == BulkType::bf16;
  const bool floats = type == BulkType::f32 || type == BulkType::f64;
  const bool bits = how == BulkReduce::bit_and || how == BulkReduce::bit_or || how == BulkReduce::bit_xor;
  if (floats && how != BulkReduce::add) return "floats and doubles can only be added";
  if (halves && how != BulkReduce::add && how != BulkReduce::min && how != BulkReduce::max)
    return "halves can be added, and their minimum or maximum be taken";
  if ((how == BulkReduce::inc || how == BulkReduce::dec) && type != BulkType::u32)
    return "inc and dec are for u32";
  if (bits != (type == BulkType::b32 || type == BulkType::b64) && type != BulkType::u32 &&
      type != BulkType::s32 && type != BulkType::u64 && type != BulkType::s64)
    return "bit operations are for b32 and b64";
  return "";
}

const char* no_reduction_in_shared(BulkReduce how, BulkType type) {
  const bool wide = type == BulkType::u64 || type == BulkType::s64 || type == BulkType::b64;
  if (type == BulkType::f16 || type == BulkType::bf16 || type == BulkType::f32 || type == BulkType::f64)
    return "only integers are reduced in shared memory";
  if (wide && how != BulkReduce::add) return "64 bits can only be added in shared memory";
  return no_reduction(how, type);
}

void reduce_in_place(char* to, const char* from, size_t bytes, BulkReduce how, BulkType type) {
  switch (type) {
    case BulkType::s32:
      return each<int32_t>(to, from, bytes, how);
    case BulkType::u64:
    case BulkType::b64:
      return each<uint64_t>(to, from, bytes, how);
    case BulkType::s64:
      return each<int64_t>(to, from, bytes, how);
    case BulkType::f16:
    case BulkType::bf16:
      return each_half(to, from, bytes, how, type == BulkType::bf16);
    case BulkType::f32:
      return each<float>(to, from, bytes, how);
    case BulkType::f64:
      return each<double>(to, from, bytes, how);
    case BulkType::u32:
    case BulkType::b32:
    case BulkType::of_map:
      return each<uint32_t>(to, from, bytes, how);
  }
}

}  // namespace klab::simt
