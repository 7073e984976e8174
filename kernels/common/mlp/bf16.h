// A small network's three products on tiles of 64 samples in bfloat16, by the processor's own dot product of pairs.
//
// VDPBF16PS multiplies 32 pairs of bfloat16s and adds each two products to a float. Pairs are neighbors along the sum: two
// channels for the products with weights, two samples for the gradient of the weights. A tile of activations is therefore
// kept in one or both of two layouts of 32-bit words, each with the first of a pair in its low half:
//
//   by channels   [pairs(channels)][64]   word (k, i) holds channels 2k and 2k+1 of sample i
//   by samples    [channels][32]          word (c, i) holds samples 2i and 2i+1 of channel c
//
// The instruction takes denormal factors and sums for zero whatever the processor's mode is (Intel SDM, VDPBF16PS).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "kernels/common/mlp/prefetch_rows.h"
#include "reference/float16.h"

#if defined(__x86_64__)
// GCC 12 warns about operands that its own header leaves undefined where an instruction ignores them.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#define KLAB_BF16 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))
#endif

namespace klab::mlp_bf16 {

constexpr int64_t kTile = 64;         // samples
constexpr int64_t kHalf = kTile / 2;  // words of a row by samples
constexpr int64_t kRows = 6;          // even, so that blocks of rows are whole pairs
constexpr int64_t kLanes = 16;        // floats or words of a vector
constexpr int64_t kVectors =
    kTile / kLanes;  // of a row of sums: 24 sums, 4 inputs and a weight in 32 registers

constexpr int64_t pairs(int64_t channels) { return (channels + 1) / 2; }
constexpr int64_t padded(int64_t columns) { return (columns + kLanes - 1) / kLanes * kLanes; }

/// Why these rungs cannot run here; empty where they can.
inline std::string unsupported() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw")) return "";
#endif
  return "needs a processor with AVX-512 BF16; the rungs in float run on any";
}

/// packed[pairs(columns)][R] for each block of up to kRows rows of a matrix m(j, k) = w[j·row + k·column], one block after
/// the other; pairs(columns)·rows words in all.
inline void pack(const float* w, int64_t rows, int64_t columns, int64_t row, int64_t column,
                 uint32_t* packed) {
  const auto at = [&](int64_t j, int64_t k) {
    return k < columns ? uint32_t(bfloat16_from_float(w[j * row + k * column])) : 0U;
  };
  for (int64_t r = 0; r < rows; r += kRows)
    for (int64_t k = 0; k < columns; k += 2)
      for (int64_t j = r; j < std::min(r + kRows, rows); ++j) *packed++ = at(j, k) | at(j, k + 1) << 16;
}

/// One tile of activations; either layout may be absent.
struct Tile {
  uint32_t *by_channels = nullptr, *by_samples = nullptr;
};

/// Operation on a sum before it is stored: relu and gate go to a tile in bfloat16, plain to rows of floats.
enum class End { plain, relu, gate };

/// Where sums go.
struct Target {
  Tile tile;              // End::relu and End::gate
  Tile gate;              // of End::gate: sums count only where this is positive
  float* rows = nullptr;  // End::plain: [row][kTile], `stride` floats apart
  int64_t stride = kTile;
};

using Ahead = PrefetchRows<kTile>;

#if defined(__x86_64__)

/// Two channels of 16 samples, one above the other in each word.
KLAB_BF16 inline __m512i interleave(__m512 even, __m512 odd) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7,
                                         22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return _mm512_permutexvar_epi16(order, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(odd, even)));
}

/// Stores 32 bfloat16s; kGated: zeros where those at `gate` are not positive, which for numbers of 16 bits with a sign is a
/// comparison of integers.
template <bool kGated>
KLAB_BF16 inline void store_words(__m512i words, uint32_t* to, const uint32_t* gate) {
  if constexpr (kGated)
    words = _mm512_maskz_mov_epi16(_mm512_cmpgt_epi16_mask(_mm512_load_si512(gate), _mm512_setzero_si512()),
                                   words);
  _mm512_store_si512(to, words);
}

/// Stores channels 2k and 2k+1 of the tile; `odd` is null where there is no other channel.
template <bool kGated>
KLAB_BF16 inline void store_pair(const __m512* even, const __m512* odd, int64_t k, const Tile& to,
                                 const Tile& gate) {
  if (to.by_channels != nullptr)
    for (int64_t v = 0; v < kVectors; ++v) {
      const int64_t at = k * kTile + v * kLanes;
      store_words<kGated>(interleave(even[v], odd == nullptr ? _mm512_setzero_ps() : odd[v]),
                          to.by_channels + at, gate.by_channels + at);
    }
  if (to.by_samples == nullptr) return;
  for (int64_t v = 0; v < kVectors; v += 2) {
    const int64_t at = 2 * k * kHalf + v / 2 * kLanes;
    store_words<kGated>(reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(even[v + 1], even[v])),
                        to.by_samples + at, gate.by_samples + at);
    if (odd == nullptr) continue;
    store_words<kGated>(reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(odd[v + 1], odd[v])),
                        to.by_samples + at + kHalf, gate.by_samples + at + kHalf);
  }
}

/// Rows of `count` samples, stride floats apart, into a tile; samples missing to a whole tile are zero.
KLAB_BF16 inline void load_tile(const float* x, int64_t rows, int64_t stride, int64_t count, const Tile& to) {
  __m512 row[2][kVectors];
  for (int64_t r = 0; r < rows; r += 2) {
    for (int64_t p = 0; p < std::min<int64_t>(2, rows - r); ++p)
      for (int64_t v = 0; v < kVectors; ++v) {
        const int64_t here = std::clamp<int64_t>(count - v * kLanes, 0, kLanes);
        row[p][v] = _mm512_maskz_loadu_ps(__mmask16((1U << here) - 1), x + (r + p) * stride + v * kLanes);
      }
    store_pair<false>(row[0], r + 1 < rows ? row[1] : nullptr, r / 2, to, {});
  }
}

/// Rows [r, r + R) of w h, for h of `terms` pairs by channels.
template <End end, int R>
KLAB_BF16 void product_rows(const uint32_t* w, int64_t terms, const uint32_t* h, int64_t r,
                            const Target& to) {
  __m512 sum[R][kVectors];
  for (int j = 0; j < R; ++j)
    for (int64_t v = 0; v < kVectors; ++v) sum[j][v] = _mm512_setzero_ps();
  for (int64_t k = 0; k < terms; ++k) {
    __m512i in[kVectors];
    for (int64_t v = 0; v < kVectors; ++v) in[v] = _mm512_load_si512(h + k * kTile + v * kLanes);
    for (int j = 0; j < R; ++j) {
      const auto weight = reinterpret_cast<__m512bh>(_mm512_set1_epi32(int32_t(w[k * R + j])));
      for (int64_t v = 0; v < kVectors; ++v)
        sum[j][v] = _mm512_dpbf16_ps(sum[j][v], weight, reinterpret_cast<__m512bh>(in[v]));
    }
  }
  if constexpr (end == End::plain) {
    for (int j = 0; j < R; ++j)
      for (int64_t v = 0; v < kVectors; ++v)
        _mm512_storeu_ps(to.rows + (r + j) * to.stride + v * kLanes, sum[j][v]);
  } else {
    for (int j = 0; j < R; ++j) {
      if constexpr (end == End::relu)
        for (int64_t v = 0; v < kVectors; ++v)
          sum[j][v] = _mm512_max_ps(_mm512_setzero_ps(), sum[j][v]);  // in this order a NaN stays one
    }
    for (int j = 0; j < R; j += 2)
      store_pair<end == End::gate>(sum[j], j + 1 < R ? sum[j + 1] : nullptr, (r + j) / 2, to.tile, to.gate);
  }
}

/// w h for all `rows` rows of a packed matrix; meanwhile prefetches kSoon rows for each block of them.
template <End end>
KLAB_BF16 void product(const uint32_t* w, int64_t rows, int64_t terms, const uint32_t* h, const Target& to,
                       Ahead& ahead) {
  constexpr int64_t kSoon = 4;
  constexpr decltype(&product_rows<end, 1>) kProducts[] = {product_rows<end, 1>, product_rows<end, 2>,
                                                           product_rows<end, 3>, product_rows<end, 4>,
                                                           product_rows<end, 5>, product_rows<end, 6>};
  for (int64_t r = 0; r < rows; r += kRows, w += kRows * terms) {
    ahead.step(kSoon);
    kProducts[std::min(kRows, rows - r) - 1](w, terms, h, r, to);
  }
}

/// e^z to some 2^-20, for -87 <= z <= 88: z = n ln 2 + f with |f| <= ln(2)/2, and the exponential's series for f.
KLAB_BF16 inline __m512 exp_lanes(__m512 z) {
  const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(z, _mm512_set1_ps(1.44269504F)), 0);
  __m512 f = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375F), z);
  f = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4F), f);
  __m512 sum = _mm512_set1_ps(1.0F / 720);
  for (const float c : {1.0F / 120, 1.0F / 24, 1.0F / 6, 0.5F, 1.0F, 1.0F})
    sum = _mm512_fmadd_ps(sum, f, _mm512_set1_ps(c));
  return _mm512_scalef_ps(sum, n);
}

/// e^-z with z held within ±87, where it is finite; NaN stays.
KLAB_BF16 inline __m512 exp_of_minus(__m512 z) {
  const __m512 limit = _mm512_set1_ps(87), least = _mm512_set1_ps(-87);
  z = _mm512_mask_mov_ps(z, _mm512_cmp_ps_mask(z, limit, _CMP_GT_OQ), limit);
  z = _mm512_mask_mov_ps(z, _mm512_cmp_ps_mask(z, least, _CMP_LT_OQ), least);
  return exp_lanes(_mm512_sub_ps(_mm512_setzero_ps(), z));
}

/// z = 1/(1 + e^-z) in place, for rows of kTile floats.
KLAB_BF16 inline void logistic(float* z, int64_t rows, int64_t stride) {
  const __m512 one = _mm512_set1_ps(1);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t t = 0; t < kTile; t += kLanes) {
      float* at = z + r * stride + t;
      _mm512_storeu_ps(at, _mm512_div_ps(one, _mm512_add_ps(one, exp_of_minus(_mm512_loadu_ps(at)))));
    }
}

/// d *= s(z)(1 - s(z)) for `count` floats, a multiple of kLanes. With e = exp(-z): s = 1/(1+e) and 1-s = e s.
KLAB_BF16 inline void logistic_gradient(const float* z, int64_t count, float* d) {
  const __m512 one = _mm512_set1_ps(1);
  for (int64_t i = 0; i < count; i += kLanes) {
    const __m512 e = exp_of_minus(_mm512_load_ps(z + i)), y = _mm512_div_ps(one, _mm512_add_ps(one, e));
    _mm512_store_ps(d + i, _mm512_mul_ps(_mm512_load_ps(d + i), _mm512_mul_ps(y, _mm512_mul_ps(e, y))));
  }
}

/// 16 x 16 words, rows `from_stride` and `to_stride` words apart.
KLAB_BF16 inline void transpose_16(const uint32_t* from, int64_t from_stride, uint32_t* to,
                                   int64_t to_stride) {
  __m512i a[16], b[16];
  for (int i = 0; i < 16; ++i) a[i] = _mm512_loadu_si512(from + i * from_stride);
  for (int i = 0; i < 16; i += 2) {
    b[i] = _mm512_unpacklo_epi32(a[i], a[i + 1]);
    b[i + 1] = _mm512_unpackhi_epi32(a[i], a[i + 1]);
  }
  for (int i = 0; i < 16; i += 4)
    for (int j = 0; j < 2; ++j) {
      a[i + 2 * j] = _mm512_unpacklo_epi64(b[i + j], b[i + j + 2]);
      a[i + 2 * j + 1] = _mm512_unpackhi_epi64(b[i + j], b[i + j + 2]);
    }
  // Now a[4g + c] holds columns c, c+4, c+8, c+12 of rows 4g to 4g+3, a quarter each.
  for (int c = 0; c < 4; ++c) {
    b[c] = _mm512_shuffle_i32x4(a[c], a[c + 4], 0x88);
    b[c + 4] = _mm512_shuffle_i32x4(a[c], a[c + 4], 0xDD);
    b[c + 8] = _mm512_shuffle_i32x4(a[c + 8], a[c + 12], 0x88);
    b[c + 12] = _mm512_shuffle_i32x4(a[c + 8], a[c + 12], 0xDD);
  }
  for (int c = 0; c < 4; ++c) {
    _mm512_storeu_si512(to + c * to_stride, _mm512_shuffle_i32x4(b[c], b[c + 8], 0x88));
    _mm512_storeu_si512(to + (c + 8) * to_stride, _mm512_shuffle_i32x4(b[c], b[c + 8], 0xDD));
    _mm512_storeu_si512(to + (c + 4) * to_stride, _mm512_shuffle_i32x4(b[c + 4], b[c + 12], 0x88));
    _mm512_storeu_si512(to + (c + 12) * to_stride, _mm512_shuffle_i32x4(b[c + 4], b[c + 12], 0xDD));
  }
}

/// t[kHalf][pad] from a tile by samples of `rows` channels, which is there up to a multiple of 16.
KLAB_BF16 inline void transpose(const uint32_t* by_samples, int64_t rows, int64_t pad, uint32_t* t) {
  for (int64_t r = 0; r < rows; r += 16)
    for (int64_t i = 0; i < kHalf; i += 16)
      transpose_16(by_samples + r * kHalf + i, kHalf, t + i * pad + r, pad);
}

/// R rows by V vectors of sums[to][pad] += d[to][kHalf] t[kHalf][pad], over pairs of samples.
template <int R, int V>
KLAB_BF16 void gradient_tile(const uint32_t* d, const uint32_t* t, int64_t pad, float* sums) {
  __m512 sum[R][V];
  for (int j = 0; j < R; ++j)
    for (int v = 0; v < V; ++v) sum[j][v] = _mm512_load_ps(sums + j * pad + v * kLanes);
  for (int64_t i = 0; i < kHalf; ++i) {
    __m512i in[V];
    for (int v = 0; v < V; ++v) in[v] = _mm512_load_si512(t + i * pad + v * kLanes);
    for (int j = 0; j < R; ++j) {
      const auto gradient = reinterpret_cast<__m512bh>(_mm512_set1_epi32(int32_t(d[j * kHalf + i])));
      for (int v = 0; v < V; ++v)
        sum[j][v] = _mm512_dpbf16_ps(sum[j][v], gradient, reinterpret_cast<__m512bh>(in[v]));
    }
  }
  for (int j = 0; j < R; ++j)
    for (int v = 0; v < V; ++v) _mm512_store_ps(sums + j * pad + v * kLanes, sum[j][v]);
}

template <int R>
KLAB_BF16 void gradient_rows(const uint32_t* d, const uint32_t* t, int64_t pad, float* sums) {
  int64_t c = 0;
  for (; c + 4 * kLanes <= pad; c += 4 * kLanes) gradient_tile<R, 4>(d, t + c, pad, sums + c);
  for (; c + 2 * kLanes <= pad; c += 2 * kLanes) gradient_tile<R, 2>(d, t + c, pad, sums + c);
  for (; c < pad; c += kLanes) gradient_tile<R, 1>(d, t + c, pad, sums + c);
}

/// sums[to][pad] += d t, with d a tile by samples and t as transpose() leaves it.
KLAB_BF16 inline void weight_gradient(const uint32_t* d, int64_t to, const uint32_t* t, int64_t pad,
                                      float* sums) {
  constexpr decltype(&gradient_rows<1>) kGradients[] = {gradient_rows<1>, gradient_rows<2>, gradient_rows<3>,
                                                        gradient_rows<4>, gradient_rows<5>, gradient_rows<6>};
  for (int64_t r = 0; r < to; r += kRows)
    kGradients[std::min(kRows, to - r) - 1](d + r * kHalf, t, pad, sums + r * pad);
}

#endif

}  // namespace klab::mlp_bf16
