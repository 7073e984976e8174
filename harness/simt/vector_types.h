// CUDA's vector types and dim3 for a host compiler, C++11 or newer. Vectors of 2 to 16 bytes are copied as
// one piece, as the GPU loads and stores them; vectors of 32 bytes as two.
#pragma once

#include <cstddef>
#include <cstdint>

#ifndef KLAB_SIMT_INLINE
#define KLAB_SIMT_INLINE inline __attribute__((always_inline))
#endif

namespace klab {
namespace simt {
template <int bytes>
struct Piece;
template <>
struct Piece<2> {
  typedef uint16_t type __attribute__((may_alias));
};
template <>
struct Piece<4> {
  typedef uint32_t type __attribute__((may_alias));
};
template <>
struct Piece<8> {
  typedef uint64_t type __attribute__((may_alias));
};
template <>
struct Piece<16> {
  typedef uint32_t type __attribute__((vector_size(16), may_alias));
};
template <class T>
KLAB_SIMT_INLINE void move_whole(T* to, const T* from) {
  constexpr int piece = sizeof(T) > 16 ? 16 : int(sizeof(T));
  typedef typename Piece<piece>::type P;
  for (unsigned k = 0; k < sizeof(T) / piece; ++k)
    reinterpret_cast<P*>(to)[k] = reinterpret_cast<const P*>(from)[k];
}
}  // namespace simt
}  // namespace klab

// Copies the vector as one access of its size.
#define KLAB_SIMT_WHOLE(Name)                                                  \
  Name() = default;                                                            \
  KLAB_SIMT_INLINE Name(const Name& o) { ::klab::simt::move_whole(this, &o); } \
  KLAB_SIMT_INLINE Name& operator=(const Name& o) {                            \
    ::klab::simt::move_whole(this, &o);                                        \
    return *this;                                                              \
  }

#define KLAB_SIMT_VECTOR1(Name, T) \
  struct Name {                    \
    T x;                           \
  };                               \
  KLAB_SIMT_INLINE Name make_##Name(T a) { return {a}; }

// Members without an initializer are zero.
#define KLAB_SIMT_VECTOR2(Name, T)                                 \
  struct alignas(2 * sizeof(T)) Name {                             \
    T x, y;                                                        \
    KLAB_SIMT_WHOLE(Name)                                          \
    KLAB_SIMT_INLINE constexpr Name(T a, T b = {}) : x(a), y(b) {} \
  };                                                               \
  KLAB_SIMT_INLINE constexpr Name make_##Name(T a, T b) { return {a, b}; }

#define KLAB_SIMT_VECTOR3(Name, T) \
  struct Name {                    \
    T x, y, z;                     \
  };                               \
  KLAB_SIMT_INLINE constexpr Name make_##Name(T a, T b, T c) { return {a, b, c}; }

#define KLAB_SIMT_VECTOR4(Name, T)                                                                 \
  struct alignas(sizeof(T) < 8 ? 4 * sizeof(T) : 16) Name {                                        \
    T x, y, z, w;                                                                                  \
    KLAB_SIMT_WHOLE(Name)                                                                          \
    KLAB_SIMT_INLINE constexpr Name(T a, T b = {}, T c = {}, T d = {}) : x(a), y(b), z(c), w(d) {} \
  };                                                                                               \
  KLAB_SIMT_INLINE constexpr Name make_##Name(T a, T b, T c, T d) { return {a, b, c, d}; }

#define KLAB_SIMT_VECTORS(name, T) \
  KLAB_SIMT_VECTOR1(name##1, T)    \
  KLAB_SIMT_VECTOR2(name##2, T)    \
  KLAB_SIMT_VECTOR3(name##3, T)    \
  KLAB_SIMT_VECTOR4(name##4, T)
KLAB_SIMT_VECTORS(char, signed char)
KLAB_SIMT_VECTORS(uchar, unsigned char)
KLAB_SIMT_VECTORS(short, short)
KLAB_SIMT_VECTORS(ushort, unsigned short)
KLAB_SIMT_VECTORS(int, int)
KLAB_SIMT_VECTORS(uint, unsigned)
KLAB_SIMT_VECTORS(long, long)
KLAB_SIMT_VECTORS(ulong, unsigned long)
KLAB_SIMT_VECTORS(longlong, long long)
KLAB_SIMT_VECTORS(ulonglong, unsigned long long)
KLAB_SIMT_VECTORS(float, float)
KLAB_SIMT_VECTORS(double, double)

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
  constexpr dim3(const uint3& v) : x(v.x), y(v.y), z(v.z) {}  // NOLINT: converts, as in CUDA
  operator uint3() const { return {x, y, z}; }                // NOLINT
};
