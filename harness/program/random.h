// Random numbers by counter: a draw depends on what it is for and nothing else, so results do not depend on
// the order of threads, and a resumed run draws what an uninterrupted one would have.
#pragma once

#include <cstdint>

namespace klab {

/// Mixes all bits (finalizer of MurmurHash3, by A. Appleby, public domain constants).
inline uint64_t mix(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  return x ^ x >> 33;
}

/// A stream of draws for one purpose, e.g. {seed, step, Purpose::pixels}.
class Draws {
 public:
  Draws(uint64_t seed, uint64_t step, uint64_t purpose) : key_(mix(seed + mix(step + mix(purpose + 1)))) {}
  uint64_t bits(uint64_t index) const { return mix(key_ + index * 0x9e3779b97f4a7c15ULL); }
  /// In [0, 1).
  float unit(uint64_t index) const { return float(bits(index) >> 40) * 0x1p-24F; }
  /// In [0, n), n below 2^32.
  int64_t below(uint64_t index, int64_t n) const { return int64_t((bits(index) >> 32) * uint64_t(n) >> 32); }

 private:
  uint64_t key_;
};

}  // namespace klab
