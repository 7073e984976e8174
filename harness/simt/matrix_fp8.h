// The matrix instruction of fp8: m16n8k32 of e4m3, sums in float. Apart from runtime_api.h, since few kernels know it.
#pragma once

#include <cstdint>

namespace klab::simt {

/// d = a·b + c, each sum of 32 products and c exact, then rounded once. All 32 lanes take part; which element a lane has is as
/// of bytes with signs (matrix.cpp).
void mma_16_8_fp8(float* d, const uint32_t* a, const uint32_t* b, const float* c, const char* file, int line);

}  // namespace klab::simt
