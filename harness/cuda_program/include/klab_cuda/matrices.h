// nvcuda::wmma, in all shapes.
//
// CUDA does not specify which lane holds which element. Here elements lie as in mma.sync
// (harness/cuda_program/matrices.cpp), so that loads touch the same addresses as on a GPU.
#pragma once

#include <klab_cuda/halves.h>
#include <klab_cuda/matrix_shape.h>
#include "harness/simt/warp.h"

namespace nvcuda {
namespace wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32 {};
}  // namespace precision
namespace experimental {
namespace precision {
// Elements of less than 8 bits, packed into numbers of 32 bits.
struct b1 {};
struct s4 {};
struct u4 {};
}  // namespace precision
enum bmmaBitOp { bmmaBitOpXOR = 1, bmmaBitOpAND = 2 };
enum bmmaAccumulateOp { bmmaAccumulateOpPOPC = 1 };
}  // namespace experimental

namespace detail {
using klab::program::Element;
template <class T>
struct Stored;  // undefined: types of fragments that the host does not support fail to compile here
#define KLAB_CUDA_STORED(T, S, E, C)                   \
  template <>                                          \
  struct Stored<T> {                                   \
    using type = S;                                    \
    static constexpr Element element = Element::E;     \
    static constexpr Element accumulated = Element::C; \
  };
KLAB_CUDA_STORED(__half, __half, f16, f16)
KLAB_CUDA_STORED(__nv_bfloat16, __nv_bfloat16, bf16, bf16)
KLAB_CUDA_STORED(precision::tf32, float, tf32, tf32)
KLAB_CUDA_STORED(float, float, tf32, f32)
KLAB_CUDA_STORED(double, double, f64, f64)
KLAB_CUDA_STORED(signed char, signed char, s8, s8)
KLAB_CUDA_STORED(char, signed char, s8, s8)
KLAB_CUDA_STORED(unsigned char, unsigned char, u8, u8)
KLAB_CUDA_STORED(int, int, s32, s32)
KLAB_CUDA_STORED(experimental::precision::s4, int, s4, s32)
KLAB_CUDA_STORED(experimental::precision::u4, unsigned, u4, s32)
KLAB_CUDA_STORED(experimental::precision::b1, unsigned, b1, s32)
#undef KLAB_CUDA_STORED

/// Returns the elements in one number of a fragment: more than 1 only below 8 bits.
template <class T>
constexpr int packed() {
  constexpr int bits = klab::program::element_bits(Stored<T>::element);
  return bits < 8 ? 32 / bits : 1;
}
template <class Use, int m, int n, int k>
constexpr int elements() {
  if (std::is_same_v<Use, matrix_a>) return m * k / 32;
  if (std::is_same_v<Use, matrix_b>) return k * n / 32;
  return m * n / 32;
}
KLAB_SIMT_INLINE int group() { return int(klab::simt::lane_index()) >> 2; }
KLAB_SIMT_INLINE int in_group() { return int(klab::simt::lane_index() & 3); }
}  // namespace detail

template <class Use, int m, int n, int k, class T, class Layout = void>
struct fragment {
  using element_type = T;
  using storage_element_type = typename detail::Stored<T>::type;
  static constexpr int num_elements = detail::elements<Use, m, n, k>();
  static constexpr int num_storage_elements = num_elements / detail::packed<T>();
  storage_element_type x[num_storage_elements];
};

template <class Use, int m, int n, int k, class T, class Layout, class V>
KLAB_SIMT_INLINE void fill_fragment(fragment<Use, m, n, k, T, Layout>& f, const V& value) {
  if constexpr (detail::packed<T>() > 1) {
    constexpr int bits = klab::program::element_bits(detail::Stored<T>::element);
    unsigned all = 0;
    for (int at = 0; at < 32; at += bits) all |= (unsigned(value) & ((1u << bits) - 1)) << at;
    for (auto& x : f.x) x = typename detail::Stored<T>::type(all);
  } else {
    for (int i = 0; i < f.num_elements; ++i) f.x[i] = typename detail::Stored<T>::type(value);
  }
}

namespace detail {
/// Loads elements that are adjacent in memory as one access; else one by one, `step` elements apart.
template <int each, class S>
KLAB_SIMT_INLINE void load_register(S* to, const S* from, bool neighbors, int step) {
  if constexpr (each * sizeof(S) <= 8 && each > 1) {
    if (neighbors) {
      typename klab::simt::Piece<each * sizeof(S)>::type piece;
      piece = *reinterpret_cast<const decltype(piece)*>(from);
      __builtin_memcpy(static_cast<void*>(to), &piece, sizeof piece);
      return;
    }
  }
  for (int e = 0; e < each; ++e) to[e] = from[e * step];
}
template <int each, class S>
KLAB_SIMT_INLINE void store_register(S* to, const S* from, bool neighbors, int step) {
  if constexpr (each * sizeof(S) <= 8 && each > 1) {
    if (neighbors) {
      typename klab::simt::Piece<each * sizeof(S)>::type piece;
      __builtin_memcpy(&piece, from, sizeof piece);
      *reinterpret_cast<decltype(piece)*>(to) = piece;
      return;
    }
  }
  for (int e = 0; e < each; ++e) to[e * step] = from[e];
}
/// Loads one register of adjacent elements of less than 8 bits; the first is element `at` of the matrix.
template <class T>
KLAB_SIMT_INLINE typename Stored<T>::type load_packed(const void* p, int at) {
  const auto* bytes = static_cast<const char*>(p);
  return *reinterpret_cast<const typename Stored<T>::type*>(
      bytes + at / 8 * klab::program::element_bits(Stored<T>::element));
}
}  // namespace detail

template <int m, int n, int k, class T, class Layout, class S>
KLAB_SIMT_INLINE void load_matrix_sync(fragment<matrix_a, m, n, k, T, Layout>& f, const S* p, unsigned ld) {
  constexpr int each = klab::program::elements_a_register(detail::Stored<T>::element), halves = m / 8;
  constexpr bool rows = std::is_same_v<Layout, row_major>;
  for (int r = 0; r < f.num_elements / each; ++r) {
    const int i = detail::group() + 8 * (r % halves);
    const int j = detail::in_group() * each + 4 * each * (r / halves);
    if constexpr (detail::packed<T>() > 1) {
      static_assert(rows, "a matrix of elements of less than 8 bits is stored by rows");
      f.x[r] = detail::load_packed<T>(p, i * int(ld) + j);
    } else
      detail::load_register<each>(f.x + each * r, p + (rows ? i * int(ld) + j : i + j * int(ld)), rows,
                                  rows ? 1 : int(ld));
  }
}
template <int m, int n, int k, class T, class Layout, class S>
KLAB_SIMT_INLINE void load_matrix_sync(fragment<matrix_b, m, n, k, T, Layout>& f, const S* p, unsigned ld) {
  constexpr int each = klab::program::elements_a_register(detail::Stored<T>::element);
  constexpr int chunks = k / (4 * each) > 0 ? k / (4 * each) : 1;
  constexpr bool columns = std::is_same_v<Layout, col_major>;
  for (int r = 0; r < f.num_elements / each; ++r) {
    const int i = detail::in_group() * each + 4 * each * (r % chunks);
    const int j = detail::group() + 8 * (r / chunks);
    if constexpr (detail::packed<T>() > 1) {
      static_assert(columns, "a second matrix of elements of less than 8 bits is stored by columns");
      f.x[r] = detail::load_packed<T>(p, i + j * int(ld));
    } else
      detail::load_register<each>(f.x + each * r, p + (columns ? i + j * int(ld) : i * int(ld) + j), columns,
                                  columns ? 1 : int(ld));
  }
}
template <int m, int n, int k, class T, class S>
KLAB_SIMT_INLINE void load_matrix_sync(fragment<accumulator, m, n, k, T>& f, const S* p, unsigned ld,
                                       layout_t layout) {
  for (int r = 0; r < f.num_elements / 2; ++r) {
    const int i = detail::group() + 8 * (r % (m / 8)), j = detail::in_group() * 2 + 8 * (r / (m / 8));
    const bool rows = layout == mem_row_major;
    detail::load_register<2>(f.x + 2 * r, p + (rows ? i * int(ld) + j : i + j * int(ld)), rows,
                             rows ? 1 : int(ld));
  }
}
template <int m, int n, int k, class T, class S>
KLAB_SIMT_INLINE void store_matrix_sync(S* p, const fragment<accumulator, m, n, k, T>& f, unsigned ld,
                                        layout_t layout) {
  for (int r = 0; r < f.num_elements / 2; ++r) {
    const int i = detail::group() + 8 * (r % (m / 8)), j = detail::in_group() * 2 + 8 * (r / (m / 8));
    const bool rows = layout == mem_row_major;
    detail::store_register<2>(p + (rows ? i * int(ld) + j : i + j * int(ld)), f.x + 2 * r, rows,
                              rows ? 1 : int(ld));
  }
}

/// d = a·b + c.
template <int m, int n, int k, class T, class LayoutA, class LayoutB, class D, class C>
KLAB_SIMT_INLINE void mma_sync(fragment<accumulator, m, n, k, D>& d,
                               const fragment<matrix_a, m, n, k, T, LayoutA>& a,
                               const fragment<matrix_b, m, n, k, T, LayoutB>& b,
                               const fragment<accumulator, m, n, k, C>& c, bool saturated = false,
                               KLAB_SIMT_HERE) {
  constexpr auto of = detail::Stored<T>::element;
  if constexpr (std::is_same_v<C, D>) {
    klab::program::multiply_matrices({m, n, k, of, of, detail::Stored<D>::accumulated, saturated}, d.x, a.x,
                                     b.x, c.x, file, line);
  } else {
    fragment<accumulator, m, n, k, D> from;
    for (int i = 0; i < from.num_elements; ++i) from.x[i] = D(float(c.x[i]));
    klab::program::multiply_matrices({m, n, k, of, of, detail::Stored<D>::accumulated, saturated}, d.x, a.x,
                                     b.x, from.x, file, line);
  }
}

/// Adds to c, for each row of a and column of b, the number of bits that differ (or are set in both).
template <int m, int n, int k, class LayoutA, class LayoutB>
KLAB_SIMT_INLINE void bmma_sync(fragment<accumulator, m, n, k, int>& d,
                                const fragment<matrix_a, m, n, k, experimental::precision::b1, LayoutA>& a,
                                const fragment<matrix_b, m, n, k, experimental::precision::b1, LayoutB>& b,
                                const fragment<accumulator, m, n, k, int>& c,
                                experimental::bmmaBitOp op = experimental::bmmaBitOpXOR,
                                experimental::bmmaAccumulateOp = experimental::bmmaAccumulateOpPOPC,
                                KLAB_SIMT_HERE) {
  using klab::program::Product;
  klab::program::multiply_matrices(
      {m, n, k, detail::Element::b1, detail::Element::b1, detail::Element::s32, false,
       op == experimental::bmmaBitOpXOR ? Product::bits_xor : Product::bits_and},
      d.x, a.x, b.x, c.x, file, line);
}

/// Rounds to the 10 bits of mantissa that tensor cores use.
KLAB_SIMT_INLINE float __float_to_tf32(float x) {
  unsigned bits = __float_as_uint(x);
  if ((bits & 0x7F800000u) != 0x7F800000u) bits += 0x0FFFu + (bits >> 13 & 1u);
  return __uint_as_float(bits & 0xFFFFE000u);
}

}  // namespace wmma
}  // namespace nvcuda
