// Two channels of a picture as words of two bfloat16s, for units that add two products along the channels.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/common/mlp/rounding.h"

namespace klab::conv {

#if defined(__x86_64__)

/// The vectors' part of pair_rows().
KLAB_BF16 inline void pair_vectors(const float* even, const float* odd, int64_t count, uint32_t* to) {
  constexpr int64_t kLanes = mlp_bf16::kLanes;
  for (int64_t i = 0; i < count; i += kLanes) {
    const auto here = __mmask16((1U << std::min(kLanes, count - i)) - 1);
    const __m512i words =
        mlp_bf16::interleave(_mm512_maskz_loadu_ps(here, even + i), _mm512_maskz_loadu_ps(here, odd + i));
    _mm512_mask_storeu_epi32(to + i, here, words);
  }
}

#endif

/// Rounds `count` numbers of two channels, those of `even` to the low halves of the words.
inline void pair_rows(const float* even, const float* odd, int64_t count, uint32_t* to,
                      [[maybe_unused]] bool vectors = mlp_bf16::rounds_vectors()) {
#if defined(__x86_64__)
  if (vectors) return pair_vectors(even, odd, count, to);
#endif
  for (int64_t i = 0; i < count; ++i) to[i] = mlp_bf16::word_of(even[i], odd[i]);
}

}  // namespace klab::conv
