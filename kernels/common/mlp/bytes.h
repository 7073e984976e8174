// Weights in bytes as instructions take them that multiply four pairs of bytes and add up.
#pragma once

#include <algorithm>
#include <cstdint>

#include "reference/mlp_int8_fwd/mlp_int8_fwd.h"

namespace klab::mlp_bytes {

/// Words that hold the bytes of these channels, four each.
constexpr int64_t fours(int64_t channels) { return (channels + 3) / 4; }

/// The network's weights: [fours(from)][R] words of four bytes for each block of up to `rows` rows of a layer, one block after the
/// other, and for the first layer 128 times each row's sum.
struct Packed {
  const uint32_t* words;
  const int32_t* shift;
};

/// Words of all layers.
inline int64_t words_of(const MlpFwd::Shape& s) {
  int64_t words = 0;
  for (int64_t l = 0; l < s.layers(); ++l) words += s.to(l) * fours(s.from(l));
  return words;
}

template <int64_t rows>
void pack(const MlpInt8Fwd::Args<float>& x, uint32_t* words, int32_t* shift) {
  const MlpFwd::Shape& s = x.shape;
  for (int64_t l = 0; l < s.layers(); ++l) {
    const int64_t from = s.from(l), to = s.to(l);
    const int8_t* w = x.bytes + s.weight_begin(l);
    for (int64_t r = 0; r < to; r += rows)
      for (int64_t k = 0; k < from; k += 4)
        for (int64_t j = r; j < std::min(r + rows, to); ++j) {
          uint32_t word = 0;
          for (int64_t c = k; c < std::min(from, k + 4); ++c)
            word |= uint32_t(uint8_t(w[j * from + c])) << (8 * (c - k));
          *words++ = word;
        }
    for (int64_t j = 0; l == 0 && j < to; ++j) {
      shift[j] = 0;
      for (int64_t c = 0; c < from; ++c) shift[j] += 128 * w[j * from + c];
    }
  }
}

}  // namespace klab::mlp_bytes
