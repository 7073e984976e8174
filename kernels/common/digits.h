// Digits of eight bits of keys on a GPU: how often each occurs, and which lanes of a warp have the same.
#pragma once

#include <cstdint>

#include "kernels/common/cuda.h"
#include "kernels/common/last_block.h"
#include "kernels/common/look_back.h"

namespace klab::cuda {
namespace {  // kernels and shared memory must be each file's own

constexpr int kDigits = 256, kDigitsOfKey = 8, kDigitCounters = 1024;

__device__ __forceinline__ int digit_of(unsigned long long key, int shift) {
  return int(key >> shift) & (kDigits - 1);
}

/// Returns the lanes whose digit is `d`, too. All lanes call it. Eight ballots take the same time for all digits;
/// __match_any_sync takes longer the more different ones there are.
__device__ __forceinline__ unsigned lanes_with_digit(int d) {
  unsigned alike = ~0U;
#pragma unroll
  for (int bit = 0; bit < 8; ++bit) {
    const bool set = (d >> bit & 1) != 0;
    const unsigned others = __ballot_sync(~0U, set);
    alike &= set ? others : ~others;
  }
  return alike;
}

/// Writes how many smaller digits than d the keys have in place `digit`: begins[digit,d]. `begins` and *arrivals are zero
/// before the launch of any number of blocks of kDigitCounters threads.
__global__ void __launch_bounds__(kDigitCounters)
    count_digits(int n, int digits, const unsigned long long* __restrict__ keys, unsigned* begins,
                 unsigned* arrivals) {
  __shared__ unsigned own[kDigitsOfKey * kDigits];
  const int t = int(threadIdx.x), lane = t % 32, digit = t / 32;
  for (int k = t; k < kDigitsOfKey * kDigits; k += kDigitCounters) own[k] = 0;
  __syncthreads();
  for (int64_t i = int64_t(blockIdx.x) * kDigitCounters + t; i < n;
       i += int64_t(gridDim.x) * kDigitCounters) {
    const unsigned long long key = keys[i];
    for (int k = 0; k < digits; ++k) atomicAdd(&own[k * kDigits + digit_of(key, 8 * k)], 1U);
  }
  __syncthreads();
  for (int k = t; k < digits * kDigits; k += kDigitCounters)
    if (own[k] != 0) atomicAdd(&begins[k], own[k]);
  if (!is_last_block(arrivals, gridDim.x) || digit >= digits) return;
  unsigned before = 0;
  for (int d = lane; d < kDigits; d += 32) {
    const unsigned count = begins[digit * kDigits + d];
    const unsigned sum = scan_warp(count, [](unsigned a, unsigned b) { return a + b; });
    begins[digit * kDigits + d] = before + sum - count;
    before += __shfl_sync(~0U, sum, 31);
  }
}

}  // namespace
}  // namespace klab::cuda
