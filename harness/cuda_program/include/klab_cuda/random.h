// Generators of random numbers for host and device code: Philox4x32-10 (Salmon et al. 2011), MRG32k3a (L'Ecuyer 1999) and
// XORWOW (Marsaglia 2003).
#pragma once

#include <cuda_runtime.h>
#include "harness/simt/language.h"

namespace klab::program::random {

KLAB_SIMT_INLINE uint4 philox(uint4 counter, uint2 key) {
  for (int round = 0; round < 10; ++round) {
    const unsigned long long a = 0xD2511F53ULL * counter.x, b = 0xCD9E8D57ULL * counter.z;
    uint4 next;
    next.x = (unsigned)(b >> 32) ^ counter.y ^ key.x;
    next.y = (unsigned)b;
    next.z = (unsigned)(a >> 32) ^ counter.w ^ key.y;
    next.w = (unsigned)a;
    counter = next;
    key.x += 0x9E3779B9u;
    key.y += 0xBB67AE85u;
  }
  return counter;
}

/// Mixes the bits of a number (splitmix64), for states that begin far from each other.
KLAB_SIMT_INLINE unsigned long long mix(unsigned long long x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

constexpr unsigned long long kMrg1 = 4294967087ULL, kMrg2 = 4294944443ULL;

/// A 3 x 3 matrix modulo m, by rows.
struct Matrix3 {
  unsigned long long e[9];
};
KLAB_SIMT_INLINE Matrix3 times(const Matrix3& a, const Matrix3& b, unsigned long long m) {
  Matrix3 c;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      unsigned long long sum = 0;
      for (int k = 0; k < 3; ++k) sum = (sum + a.e[3 * i + k] * b.e[3 * k + j] % m) % m;
      c.e[3 * i + j] = sum;
    }
  return c;
}
/// Advances three numbers of a recurrence by n steps, each of 2^doublings.
KLAB_SIMT_INLINE void jump(unsigned (&s)[3], Matrix3 step, unsigned long long n, int doublings,
                           unsigned long long m) {
  for (int k = 0; k < doublings && n != 0; ++k) step = times(step, step, m);
  for (; n != 0; n >>= 1) {
    if (n & 1) {
      unsigned next[3];
      for (int i = 0; i < 3; ++i) {
        unsigned long long sum = 0;
        for (int k = 0; k < 3; ++k) sum = (sum + step.e[3 * i + k] * s[k] % m) % m;
        next[i] = (unsigned)sum;
      }
      for (int i = 0; i < 3; ++i) s[i] = next[i];
    }
    if (n > 1) step = times(step, step, m);
  }
}
KLAB_SIMT_INLINE Matrix3 step1() { return {{0, 1, 0, 0, 0, 1, kMrg1 - 810728ULL, 1403580ULL, 0}}; }
KLAB_SIMT_INLINE Matrix3 step2() { return {{0, 1, 0, 0, 0, 1, kMrg2 - 1370589ULL, 0, 527612ULL}}; }

}  // namespace klab::program::random
