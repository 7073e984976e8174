// Activations of a small network between floats and bfloat16, on any processor: by AVX-512 BF16 (kernels/common/mlp/bf16.h) where there
// is one, else number by number, with the same results but for denormals. A unit that multiplies tiles needs them around its products,
// and its model runs where such vectors do not. `vectors` false takes the second way everywhere, for tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/common/mlp/bf16.h"

namespace klab::mlp_bf16 {

/// Channels of a tile whose products take 32 at a time. Those beyond the network's are zeros (clear_rest).
constexpr int64_t deep(int64_t channels) { return (channels + 31) / 32 * 32; }

/// Words of a tile of so deep channels, in either layout.
constexpr int64_t deep_words(int64_t channels) { return deep(channels) * kHalf; }

/// Returns whether vectors can be rounded to bfloat16 here.
inline bool rounds_vectors() {
  static const bool can = unsupported().empty();
  return can;
}

inline uint32_t word_of(float low, float high) {
  return uint32_t(bfloat16_from_float(low)) | uint32_t(bfloat16_from_float(high)) << 16;
}

/// Returns the word with zeros in place of halves that are not positive in `gate`.
inline uint32_t gated(uint32_t word, uint32_t gate) {
  return (int16_t(gate) > 0 ? word & 0xFFFFU : 0U) | (int16_t(gate >> 16) > 0 ? word & 0xFFFF0000U : 0U);
}

/// Does what store_pair() does, for two rows of kTile floats.
template <bool kGated>
void store_pair_of_rows(const float* even, const float* odd, int64_t k, const Tile& to, const Tile& gate) {
  const auto store = [](uint32_t* words, const uint32_t* gates, int64_t at, uint32_t word) {
    words[at] = kGated ? gated(word, gates[at]) : word;
  };
  for (int64_t i = 0; to.by_channels != nullptr && i < kTile; ++i)
    store(to.by_channels, gate.by_channels, k * kTile + i, word_of(even[i], odd == nullptr ? 0.0F : odd[i]));
  for (int64_t i = 0; to.by_samples != nullptr && i < kTile; i += 2) {
    const int64_t at = 2 * k * kHalf + i / 2;
    store(to.by_samples, gate.by_samples, at, word_of(even[i], even[i + 1]));
    if (odd != nullptr) store(to.by_samples, gate.by_samples, at + kHalf, word_of(odd[i], odd[i + 1]));
  }
}

/// Does what load_tile() does.
inline void load_rows(const float* x, int64_t rows, int64_t stride, int64_t count, const Tile& to,
                      [[maybe_unused]] bool vectors = rounds_vectors()) {
#if defined(__x86_64__)
  if (vectors) return load_tile(x, rows, stride, count, to);
#endif
  float row[2][kTile] = {};
  for (int64_t r = 0; r < rows; r += 2) {
    for (int64_t p = 0; p < std::min<int64_t>(2, rows - r); ++p)
      std::copy_n(x + (r + p) * stride, count, row[p]);
    store_pair_of_rows<false>(row[0], r + 1 < rows ? row[1] : nullptr, r / 2, to, {});
  }
}

#if defined(__x86_64__)

/// The vectors' part of end_rows().
template <End end>
KLAB_BF16 void end_vectors(const float* sums, int64_t rows, int64_t r, const Target& to) {
  __m512 row[2][kVectors];
  for (int64_t j = 0; j < rows; j += 2) {
    for (int64_t p = 0; p < std::min<int64_t>(2, rows - j); ++p)
      for (int64_t v = 0; v < kVectors; ++v) {
        row[p][v] = _mm512_load_ps(sums + (j + p) * kTile + v * kLanes);
        if constexpr (end == End::relu)
          row[p][v] = _mm512_max_ps(_mm512_setzero_ps(), row[p][v]);  // in this order a NaN stays one
      }
    store_pair<end == End::gate>(row[0], j + 1 < rows ? row[1] : nullptr, (r + j) / 2, to.tile, to.gate);
  }
}

#endif

/// Ends rows [r, r + rows) of a layer, r even: takes their sums [rows][kTile] to where `to` says, as `end` says.
template <End end>
void end_rows(const float* sums, int64_t rows, int64_t r, const Target& to,
              [[maybe_unused]] bool vectors = rounds_vectors()) {
  if constexpr (end == End::plain) {
    for (int64_t j = 0; j < rows; ++j) std::copy_n(sums + j * kTile, kTile, to.rows + (r + j) * to.stride);
  } else {
#if defined(__x86_64__)
    if (vectors) return end_vectors<end>(sums, rows, r, to);
#endif
    float row[2][kTile] = {};
    for (int64_t j = 0; j < rows; j += 2) {
      for (int64_t p = 0; p < std::min<int64_t>(2, rows - j); ++p)
        for (int64_t i = 0; i < kTile; ++i) {
          const float z = sums[(j + p) * kTile + i];
          row[p][i] = end == End::relu && z < 0 ? 0.0F : z;
        }
      store_pair_of_rows<end == End::gate>(row[0], j + 1 < rows ? row[1] : nullptr, (r + j) / 2, to.tile,
                                           to.gate);
    }
  }
}

/// Writes zeros to the channels from `channels` up to deep(channels): a product of tiles reads them, and zero times what an earlier
/// layer left there may be NaN.
inline void clear_rest(const Tile& tile, int64_t channels) {
  std::fill(tile.by_channels + pairs(channels) * kTile, tile.by_channels + deep_words(channels), 0U);
}

/// Computes z = 1/(1 + e^-z) in place, for rows of kTile floats.
inline void logistic_rows(float* z, int64_t rows, int64_t stride,
                          [[maybe_unused]] bool vectors = rounds_vectors()) {
#if defined(__x86_64__)
  if (vectors) return logistic(z, rows, stride);
#endif
  for (int64_t r = 0; r < rows; ++r)
    for (float* at = z + r * stride; at < z + r * stride + kTile; ++at) *at = 1 / (1 + std::exp(-*at));
}

/// Does what logistic_gradient() does.
inline void logistic_gradient_rows(const float* z, int64_t count, float* d,
                                   [[maybe_unused]] bool vectors = rounds_vectors()) {
#if defined(__x86_64__)
  if (vectors) return logistic_gradient(z, count, d);
#endif
  for (int64_t i = 0; i < count; ++i) {
    const float e = std::exp(-std::clamp(z[i], -87.0F, 87.0F)), y = 1 / (1 + e);
    d[i] *= y * (e * y);
  }
}

/// Does what transpose() does.
inline void transpose_words(const uint32_t* by_samples, int64_t rows, int64_t pad, uint32_t* t,
                            [[maybe_unused]] bool vectors = rounds_vectors()) {
#if defined(__x86_64__)
  if (vectors) return transpose(by_samples, rows, pad, t);
#endif
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < kHalf; ++i) t[i * pad + r] = by_samples[r * kHalf + i];
}

}  // namespace klab::mlp_bf16
