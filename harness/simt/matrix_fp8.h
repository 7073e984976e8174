// The matrix instructions of fp8: m16n8k32 of e4m3, or of e5m2 times e4m3, sums in float. Apart from runtime_api.h, since few kernels know it.
#pragma once

#include <cstdint>

namespace klab::simt {

/// d = a·b + c, each sum of 32 products and c exact, then rounded once. All 32 lanes take part; which element a lane has is as
/// of bytes with signs (matrix.cpp).
void mma_16_8_fp8(float* d, const uint32_t* a, const uint32_t* b, const float* c, const char* file, int line);

/// The same with a in e5m2 and b in e4m3. Sums are exact but where their terms lie 2^53 apart, and rounded once.
void mma_16_8_e5m2(float* d, const uint32_t* a, const uint32_t* b, const float* c, const char* file,
                   int line);

}  // namespace klab::simt
