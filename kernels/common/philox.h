// Philox 4x32-10 for kernels, on processors and GPUs alike: four random words for every counter (Salmon et
// al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). dropout_fwd.h defines how elements are
// counted.
#pragma once

#include <cstdint>

#if defined(__CUDACC__) || defined(KLAB_SIMT)
#define KLAB_PHILOX_HERE __host__ __device__ inline
#else
#define KLAB_PHILOX_HERE inline
#endif

namespace klab {

struct PhiloxWords {
  uint32_t w[4];
};

/// The words of block `block` (elements 4·block to 4·block + 3) under a seed and an offset of two words each.
KLAB_PHILOX_HERE PhiloxWords philox(uint64_t block, const uint32_t* seed, const uint32_t* offset) {
  uint32_t c0 = uint32_t(block), c1 = uint32_t(block >> 32), c2 = offset[0], c3 = offset[1];
  uint32_t k0 = seed[0], k1 = seed[1];
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * c0, b = uint64_t{0xCD9E8D57} * c2;
    c0 = uint32_t(b >> 32) ^ c1 ^ k0;
    c1 = uint32_t(b);
    c2 = uint32_t(a >> 32) ^ c3 ^ k1;
    c3 = uint32_t(a);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return {{c0, c1, c2, c3}};
}

/// Words below it mean "dropped": floor(p·2^32).
KLAB_PHILOX_HERE uint32_t dropout_threshold(float p) { return uint32_t(p * 4294967296.0F); }

}  // namespace klab

#undef KLAB_PHILOX_HERE
