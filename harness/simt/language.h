// CUDA's language for a host compiler: keywords, places, vector types.
//
// Places (threadIdx, ...) are calls of functions the compiler may keep the result of, so that instrumented code
// reports no loads for them. Vectors of 8 and 16 bytes are copied as one piece, as the GPU loads and stores them.
#pragma once

#include "harness/simt/runtime_api.h"

#define __global__
#define __device__
#define __host__
// A section of its own tells constant memory from __device__ variables (Module::constant_begin).
#define __constant__ static __attribute__((section("klab_constant")))
// constinit: without it GCC guards the construction of arrays of vectors and halves, which reads and writes that guard.
#define __shared__ static thread_local constinit __attribute__((aligned(128)))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))

#define KLAB_SIMT_INLINE inline __attribute__((always_inline))

/// Declares `T* name`: the block's dynamic shared memory.
#define KLAB_DYNAMIC_SHARED(T, name) T* const name = static_cast<T*>(::klab::simt::dynamic_shared())

namespace klab::simt {
template <int bytes>
struct Piece;
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
  using P = typename Piece<sizeof(T)>::type;
  *reinterpret_cast<P*>(to) = *reinterpret_cast<const P*>(from);
}
}  // namespace klab::simt

// Moved as a whole: copying is one access of the vector's size.
#define KLAB_SIMT_WHOLE(Name)                                                  \
  Name() = default;                                                            \
  KLAB_SIMT_INLINE Name(const Name& o) { ::klab::simt::move_whole(this, &o); } \
  KLAB_SIMT_INLINE Name& operator=(const Name& o) {                            \
    ::klab::simt::move_whole(this, &o);                                        \
    return *this;                                                              \
  }

#define KLAB_SIMT_VECTOR2(Name, T)                  \
  struct alignas(2 * sizeof(T)) Name {              \
    T x, y;                                         \
    KLAB_SIMT_WHOLE(Name)                           \
    KLAB_SIMT_INLINE Name(T a, T b) : x(a), y(b) {} \
  };                                                \
  KLAB_SIMT_INLINE Name make_##Name(T a, T b) { return Name(a, b); }

#define KLAB_SIMT_VECTOR3(Name, T) \
  struct Name {                    \
    T x, y, z;                     \
  };                               \
  KLAB_SIMT_INLINE Name make_##Name(T a, T b, T c) { return {a, b, c}; }

#define KLAB_SIMT_VECTOR4(Name, T)                                        \
  struct alignas(4 * sizeof(T)) Name {                                    \
    T x, y, z, w;                                                         \
    KLAB_SIMT_WHOLE(Name)                                                 \
    KLAB_SIMT_INLINE Name(T a, T b, T c, T d) : x(a), y(b), z(c), w(d) {} \
  };                                                                      \
  KLAB_SIMT_INLINE Name make_##Name(T a, T b, T c, T d) { return Name(a, b, c, d); }

KLAB_SIMT_VECTOR2(short2, short)
KLAB_SIMT_VECTOR2(ushort2, unsigned short)
KLAB_SIMT_VECTOR2(int2, int)
KLAB_SIMT_VECTOR2(uint2, unsigned)
KLAB_SIMT_VECTOR2(float2, float)
KLAB_SIMT_VECTOR2(double2, double)
KLAB_SIMT_VECTOR2(longlong2, long long)
KLAB_SIMT_VECTOR2(ulonglong2, unsigned long long)
KLAB_SIMT_VECTOR3(int3, int)
KLAB_SIMT_VECTOR3(uint3, unsigned)
KLAB_SIMT_VECTOR3(float3, float)
KLAB_SIMT_VECTOR3(uchar3, unsigned char)
KLAB_SIMT_VECTOR4(char4, signed char)
KLAB_SIMT_VECTOR4(uchar4, unsigned char)
KLAB_SIMT_VECTOR4(short4, short)
KLAB_SIMT_VECTOR4(ushort4, unsigned short)
KLAB_SIMT_VECTOR4(int4, int)
KLAB_SIMT_VECTOR4(uint4, unsigned)
KLAB_SIMT_VECTOR4(float4, float)

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
  constexpr dim3(const uint3& v) : x(v.x), y(v.y), z(v.z) {}  // NOLINT: converts, as in CUDA
};

#define threadIdx (uint3{::klab::simt::thread_x(), ::klab::simt::thread_y(), ::klab::simt::thread_z()})
#define blockIdx (uint3{::klab::simt::block_x(), ::klab::simt::block_y(), ::klab::simt::block_z()})
#define blockDim (dim3(::klab::simt::block_dim_x(), ::klab::simt::block_dim_y(), ::klab::simt::block_dim_z()))
#define gridDim (dim3(::klab::simt::grid_dim_x(), ::klab::simt::grid_dim_y(), ::klab::simt::grid_dim_z()))
inline constexpr int warpSize = 32;
