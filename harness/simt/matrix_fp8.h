// Matrix instructions of fp8: m16n8k32 of e4m3, or of e5m2 times e4m3, with float sums. Separate from
// runtime_api.h, since few kernels need it.
#pragma once

#include <cstdint>

namespace klab::simt {

/// Computes d = a·b + c. Each sum of 32 products and c is exact, then rounded once. All 32 lanes take part.
/// Lanes hold the same elements as for signed bytes (matrix.cpp).
void mma_16_8_fp8(float* d, const uint32_t* a, const uint32_t* b, const float* c, const char* file, int line);

/// Computes the same with a in e5m2 and b in e4m3. Sums are exact unless their terms lie 2^53 apart, and are
/// rounded once.
void mma_16_8_e5m2(float* d, const uint32_t* a, const uint32_t* b, const float* c, const char* file,
                   int line);

}  // namespace klab::simt
