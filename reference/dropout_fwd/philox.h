// Philox 4x32-10: four random words of 32 bits for every counter, without a state that goes from one to the next.
//
// J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. A counter of
// four words is mixed in ten rounds under a key of two, which is bumped before each round but the first. The form that
// references take; kernels have their own, and a test holds both to the vectors that the authors publish.
#pragma once

#include <array>
#include <cstdint>

namespace klab::dropout {

using Counter = std::array<uint32_t, 4>;
using Key = std::array<uint32_t, 2>;

constexpr Counter random_words(Counter c, Key k) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * c[0], b = uint64_t{0xCD9E8D57} * c[2];
    c = {uint32_t(b >> 32) ^ c[1] ^ k[0], uint32_t(b), uint32_t(a >> 32) ^ c[3] ^ k[1], uint32_t(a)};
    k = {k[0] + 0x9E3779B9, k[1] + 0xBB67AE85};
  }
  return c;
}

}  // namespace klab::dropout
