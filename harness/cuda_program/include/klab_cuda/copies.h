// Copies that a group of threads makes to shared memory, in the same pieces as libcu++ and cooperative groups
// (CUDA C++ Programming Guide, "Asynchronous Data Copies").
#pragma once

#include <klab_cuda/device.h>
#include <klab_cuda/phases.h>

extern "C" {
unsigned klab_is_global(const void* p);
unsigned klab_is_shared(const void* p);
}

namespace klab {
namespace program {

/// A number of bytes that is a multiple of `alignment`, as are the addresses.
template <size_t alignment>
struct AlignedSize {
  static constexpr size_t align = alignment;
  size_t value;
  constexpr explicit AlignedSize(size_t bytes) : value(bytes) {}
  constexpr operator size_t() const { return value; }  // NOLINT: converts to a number, as in libcu++
};

template <class Size, class = void>
inline constexpr size_t align_of_size = 1;
template <class Size>
inline constexpr size_t align_of_size<Size, std::void_t<decltype(Size::align)>> = Size::align;

/// Returns the alignment of a copy that the compiler knows from its type and size.
template <class T, class Size>
constexpr size_t known_alignment() {
  size_t known = 1;
  if constexpr (!std::is_void_v<T>) known = alignof(T);
  if constexpr (align_of_size < Size >> 1) known = align_of_size<Size> > known ? align_of_size<Size> : known;
  return known < 16 ? known : 16;
}

template <size_t each>
struct alignas(each) Bytes {
  char x[each];
};
/// Copies synchronously, in pieces of `each` bytes.
template <size_t each, class G>
KLAB_SIMT_INLINE void copy_now(const G& group, char* to, const char* from, size_t bytes) {
  const size_t step = each * size_t(group.size());
  for (size_t at = each * size_t(group.thread_rank()); at + each <= bytes; at += step) {
    typename klab::simt::Piece<each>::type piece;
    piece = *reinterpret_cast<const decltype(piece)*>(from + at);
    *reinterpret_cast<decltype(piece)*>(to + at) = piece;
  }
}
template <class G>
KLAB_SIMT_INLINE void copy_bytes_now(const G& group, char* to, const char* from, size_t bytes) {
  for (size_t at = size_t(group.thread_rank()); at < bytes; at += size_t(group.size())) to[at] = from[at];
}
/// Starts the copy; `piece(to, from)` issues one piece of `each` bytes.
template <size_t each, class G, class F>
KLAB_SIMT_INLINE void copy_later(const G& group, char* to, const char* from, size_t bytes, F piece) {
  const size_t step = each * size_t(group.size());
  for (size_t at = each * size_t(group.thread_rank()); at + each <= bytes; at += step)
    piece(to + at, from + at, unsigned(each));
}
/// Copies as libcu++ does: in pieces of the alignment that the compiler knows. Asynchronous if that is 4
/// bytes or more and the copy is from global to shared memory.
template <size_t alignment, class G, class F>
KLAB_SIMT_INLINE void copy_of_known_alignment(const G& group, void* to, const void* from, size_t bytes,
                                              F piece) {
  auto* t = static_cast<char*>(to);
  const auto* f = static_cast<const char*>(from);
  if constexpr (alignment >= 4) {
    if (klab_is_shared(to) && klab_is_global(from))
      copy_later<alignment>(group, t, f, bytes, piece);
    else
      copy_now<alignment>(group, t, f, bytes);
  } else if constexpr (alignment == 2) {
    copy_now<2>(group, t, f, bytes);
  } else {
    copy_bytes_now(group, t, f, bytes);
  }
}
/// Copies as cooperative groups do: if the compiler knows an alignment below 4 bytes, uses the alignment that
/// both addresses have in common.
template <size_t alignment, class G, class F>
KLAB_SIMT_INLINE void copy_of_any_alignment(const G& group, void* to, const void* from, size_t bytes,
                                            F piece) {
  if constexpr (alignment >= 4) {
    copy_of_known_alignment<alignment>(group, to, from, bytes, piece);
    return;
  } else {
    auto* t = static_cast<char*>(to);
    const auto* f = static_cast<const char*>(from);
    const size_t apart = (reinterpret_cast<size_t>(to) ^ reinterpret_cast<size_t>(from)) & 15;
    size_t each = 16;
    while (each > 1 && ((apart & (each - 1)) != 0 || bytes < each)) each /= 2;
    if (each < 4) {
      copy_bytes_now(group, t, f, bytes);
      return;
    }
    const size_t front = (0 - reinterpret_cast<size_t>(from)) & (each - 1);
    const size_t middle = (bytes - front) / each * each;
    copy_bytes_now(group, t, f, front);
    if (each == 16)
      copy_of_known_alignment<16>(group, t + front, f + front, middle, piece);
    else if (each == 8)
      copy_of_known_alignment<8>(group, t + front, f + front, middle, piece);
    else
      copy_of_known_alignment<4>(group, t + front, f + front, middle, piece);
    copy_bytes_now(group, t + front + middle, f + front + middle, bytes - front - middle);
  }
}

/// A group of one.
struct OneThread {
  static constexpr unsigned size() { return 1; }
  static constexpr unsigned thread_rank() { return 0; }
};

}  // namespace program
}  // namespace klab
