// Keys under which the first random word is small: a p far below 2^-16, which drops no element by chance, drops one.
#pragma once

#include <cstdint>

#include "reference/generator.h"

namespace klab::dropout {

/// Found by search: with kSmallSeedHigh above `seed`, in call 1, word 0 of the first block is `word`.
struct SmallWord {
  uint32_t seed, word;
};
inline constexpr uint32_t kSmallSeedHigh = 0x9E3779B9;
inline constexpr SmallWord kSmallWords[] = {{460824, 2222}, {2362453, 538}};

/// Sets key, call and a p that drops the first element, or the largest p that keeps it.
template <class Args>
void meet_small_word(const Args& x, Generator& random) {
  const auto& [seed, word] = kSmallWords[random() % 2];
  const uint32_t words[] = {seed, kSmallSeedHigh, 1, 0};
  for (int k = 0; k < 2; ++k) {
    const_cast<uint32_t*>(x.seed)[k] = words[k];
    const_cast<uint32_t*>(x.offset)[k] = words[2 + k];
  }
  *const_cast<float*>(x.p) = float(word + (random() % 4 == 0 ? 0 : 1)) * 0x1p-32F;
}

}  // namespace klab::dropout
