// nvcuda::wmma for a host compiler: 16x16x16 fragments of half and bfloat16 with float accumulators.
//
// CUDA does not specify which lane holds which element. Here elements lie as in mma.sync's m16n8k16, twice
// for the two halves of the columns, so one emulation serves both.
#pragma once

#include "harness/simt/half.h"
#include "harness/simt/warp.h"

namespace nvcuda::wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };

template <class Use, int m, int n, int k, class T, class Layout = void>
struct fragment {
  static_assert(m == 16 && n == 16 && k == 16, "fragments are 16x16x16");
  static constexpr int num_elements = 8;
  T x[8];
};

namespace detail {
KLAB_SIMT_INLINE int group() { return int(klab::simt::lane_index()) >> 2; }
KLAB_SIMT_INLINE int pair() { return int(klab::simt::lane_index() & 3) * 2; }
/// Return row (or k) and column of the even element of register r of a: 16x16.
KLAB_SIMT_INLINE int a_row(int r) { return group() + 8 * (r & 1); }
KLAB_SIMT_INLINE int a_col(int r) { return pair() + 8 * (r >> 1); }
/// Return the same for b: 16x16, as two halves of 8 columns with two registers each.
KLAB_SIMT_INLINE int b_row(int r) { return pair() + 8 * (r & 1); }
KLAB_SIMT_INLINE int b_col(int r) { return group() + 8 * (r >> 1); }
/// Return the same for the accumulator: 16x16, as two halves of 8 columns with two pairs each.
KLAB_SIMT_INLINE int c_row(int r) { return group() + 8 * (r & 1); }
KLAB_SIMT_INLINE int c_col(int r) { return pair() + 8 * (r >> 1); }

template <class T>
struct MatrixTypeOf;
template <>
struct MatrixTypeOf<__half> {
  static constexpr auto value = klab::simt::MatrixType::f16;
};
template <>
struct MatrixTypeOf<__nv_bfloat16> {
  static constexpr auto value = klab::simt::MatrixType::bf16;
};
/// Copies two neighbors in memory as one access.
template <class T>
KLAB_SIMT_INLINE void load_pair(T* to, const T* from) {
  typename klab::simt::Piece<2 * sizeof(T)>::type piece;
  piece = *reinterpret_cast<const decltype(piece)*>(from);
  __builtin_memcpy(static_cast<void*>(to), &piece, sizeof piece);
}
template <class T>
KLAB_SIMT_INLINE void store_pair(T* to, const T* from) {
  typename klab::simt::Piece<2 * sizeof(T)>::type piece;
  __builtin_memcpy(&piece, from, sizeof piece);
  *reinterpret_cast<decltype(piece)*>(to) = piece;
}
}  // namespace detail

template <class Use, class T, class Layout, class V>
KLAB_SIMT_INLINE void fill_fragment(fragment<Use, 16, 16, 16, T, Layout>& f, V value) {
  for (int i = 0; i < 8; ++i) f.x[i] = T(value);
}

template <class T>
KLAB_SIMT_INLINE void load_matrix_sync(fragment<matrix_a, 16, 16, 16, T, row_major>& f, const T* p,
                                       unsigned ld) {
  for (int r = 0; r < 4; ++r)
    detail::load_pair(f.x + 2 * r, p + detail::a_row(r) * int(ld) + detail::a_col(r));
}
template <class T>
KLAB_SIMT_INLINE void load_matrix_sync(fragment<matrix_a, 16, 16, 16, T, col_major>& f, const T* p,
                                       unsigned ld) {
  for (int r = 0; r < 4; ++r)
    for (int h = 0; h < 2; ++h) f.x[2 * r + h] = p[detail::a_row(r) + (detail::a_col(r) + h) * int(ld)];
}
template <class T>
KLAB_SIMT_INLINE void load_matrix_sync(fragment<matrix_b, 16, 16, 16, T, col_major>& f, const T* p,
                                       unsigned ld) {
  for (int r = 0; r < 4; ++r)
    detail::load_pair(f.x + 2 * r, p + detail::b_col(r) * int(ld) + detail::b_row(r));
}
template <class T>
KLAB_SIMT_INLINE void load_matrix_sync(fragment<matrix_b, 16, 16, 16, T, row_major>& f, const T* p,
                                       unsigned ld) {
  for (int r = 0; r < 4; ++r)
    for (int h = 0; h < 2; ++h) f.x[2 * r + h] = p[(detail::b_row(r) + h) * int(ld) + detail::b_col(r)];
}
KLAB_SIMT_INLINE void load_matrix_sync(fragment<accumulator, 16, 16, 16, float>& f, const float* p,
                                       unsigned ld, layout_t layout) {
  for (int r = 0; r < 4; ++r) {
    const int i = detail::c_row(r), j = detail::c_col(r);
    if (layout == mem_row_major) {
      detail::load_pair(f.x + 2 * r, p + i * int(ld) + j);
    } else {
      for (int h = 0; h < 2; ++h) f.x[2 * r + h] = p[i + (j + h) * int(ld)];
    }
  }
}
KLAB_SIMT_INLINE void store_matrix_sync(float* p, const fragment<accumulator, 16, 16, 16, float>& f,
                                        unsigned ld, layout_t layout) {
  for (int r = 0; r < 4; ++r) {
    const int i = detail::c_row(r), j = detail::c_col(r);
    if (layout == mem_row_major) {
      detail::store_pair(p + i * int(ld) + j, f.x + 2 * r);
    } else {
      for (int h = 0; h < 2; ++h) p[i + (j + h) * int(ld)] = f.x[2 * r + h];
    }
  }
}

/// d = a·b + c.
template <class T, class LayoutA, class LayoutB>
KLAB_SIMT_INLINE void mma_sync(fragment<accumulator, 16, 16, 16, float>& d,
                               const fragment<matrix_a, 16, 16, 16, T, LayoutA>& a,
                               const fragment<matrix_b, 16, 16, 16, T, LayoutB>& b,
                               const fragment<accumulator, 16, 16, 16, float>& c, KLAB_SIMT_HERE) {
  uint32_t ra[4], rb[4];
  __builtin_memcpy(ra, a.x, sizeof ra);
  __builtin_memcpy(rb, b.x, sizeof rb);
  for (int half = 0; half < 2; ++half)
    klab::simt::mma_16_8(detail::MatrixTypeOf<T>::value, d.x + 4 * half, ra, rb + 2 * half, c.x + 4 * half,
                         file, line);
}

}  // namespace nvcuda::wmma
