// radix_sort.cuda.02_histogram_scan_scatter: eight bits at a time, from the lowest.
//
// CHANGE    a digit of eight bits a pass. A warp has a stretch of pairs: it counts its digits; a scan over
//           digits and stretches gives where each begins; the warp puts its pairs there, 32 at a time. Lanes
//           of the same digit find each other by a match and line up in their order, so that the sort is
//           stable.
// EXPECT    one to eight passes of two readings and a writing in place of some hundred. Neighbors go to
//           places far apart: a sector for each key that is written.
// NUMERICS  copies.
// NEEDS     12 bytes a pair, 1 KiB a stretch of 1,024 pairs.
// SASS      MATCH; no LDL STL CALL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/radix_sort/radix_sort.h"

namespace klab {
namespace {

constexpr int kDigits = 256, kStretch = 1024, kScan = 256;

struct Pass {
  int64_t n, stretches;
  int shift;
  const int64_t* keys;
  const int32_t* values;
  int64_t* to_keys;
  int32_t* to_values;
  int* counts;  // [digits,stretches]; after the scan the places where these begin
};

__device__ int digit_of(int64_t key, int shift) {
  return int(static_cast<unsigned long long>(key) >> shift) & (kDigits - 1);
}

__global__ void __launch_bounds__(32) count(Pass p) {
  __shared__ int counts[kDigits];
  const int lane = int(threadIdx.x);
  for (int d = lane; d < kDigits; d += 32) counts[d] = 0;
  __syncwarp();
  const int64_t from = int64_t(blockIdx.x) * kStretch, end = from + kStretch < p.n ? from + kStretch : p.n;
  for (int64_t i = from + lane; i < end; i += 32) atomicAdd(&counts[digit_of(p.keys[i], p.shift)], 1);
  __syncwarp();
  for (int d = lane; d < kDigits; d += 32) p.counts[d * p.stretches + blockIdx.x] = counts[d];
}

/// Exclusive prefix sum over all counts, by one block: each thread has a run of neighbors.
__global__ void __launch_bounds__(kScan) scan(int64_t total, int* counts) {
  __shared__ int sums[kScan];
  const int t = int(threadIdx.x);
  const int64_t each = (total + kScan - 1) / kScan, from = t * each,
                end = from + each < total ? from + each : total;
  int sum = 0;
  for (int64_t i = from; i < end; ++i) sum += counts[i];
  sums[t] = sum;
  __syncthreads();
  for (int by = 1; by < kScan; by *= 2) {
    const int other = t >= by ? sums[t - by] : 0;
    __syncthreads();
    sums[t] += other;
    __syncthreads();
  }
  int before = sums[t] - sum;
  for (int64_t i = from; i < end; ++i) {
    const int own = counts[i];
    counts[i] = before;
    before += own;
  }
}

__global__ void __launch_bounds__(32) scatter(Pass p) {
  __shared__ int next[kDigits];
  const int lane = int(threadIdx.x);
  for (int d = lane; d < kDigits; d += 32) next[d] = p.counts[d * p.stretches + blockIdx.x];
  __syncwarp();
  const int64_t from = int64_t(blockIdx.x) * kStretch, end = from + kStretch < p.n ? from + kStretch : p.n;
  for (int64_t first = from; first < end; first += 32) {
    const bool mine = first + lane < end;
    const int64_t key = mine ? p.keys[first + lane] : 0;
    const int32_t value = mine ? p.values[first + lane] : 0;
    const int digit = mine ? digit_of(key, p.shift) : kDigits;  // those beyond the end match each other
    const unsigned alike = __match_any_sync(~0U, digit), below = alike & ((1U << lane) - 1);
    const int begin = mine ? next[digit] : 0;
    __syncwarp();  // all have read before the last of each digit writes
    if (mine) {
      p.to_keys[begin + __popc(below)] = key;
      p.to_values[begin + __popc(below)] = value;
      if ((alike >> lane) == 1U) next[digit] = begin + __popc(alike);
    }
    __syncwarp();
  }
}

void run(const RadixSort::Args<float>& x) {
  const auto [n, bits] = x.shape;
  if (n == 0) return;
  const int64_t stretches = (n + kStretch - 1) / kStretch, passes = (bits + 7) / 8;
  const cuda::Scratch scratch(size_t(n) * 12 + size_t(stretches) * kDigits * sizeof(int));
  auto* keys = scratch.as<int64_t>();
  auto* values = reinterpret_cast<int32_t*>(keys + n);
  Pass p{n, stretches, 0, x.keys, x.values, nullptr, nullptr, values + n};
  for (int64_t k = 0; k < passes; ++k) {
    const bool last_here = (passes - k) % 2 == 1;  // the last pass ends in the output
    p.shift = int(8 * k);
    p.to_keys = last_here ? x.sorted_keys : keys;
    p.to_values = last_here ? x.sorted_values : values;
    cuda::launch(count, unsigned(stretches), 32, 0, p);
    cuda::launch(scan, 1U, kScan, 0, stretches * kDigits, p.counts);
    cuda::launch(scatter, unsigned(stretches), 32, 0, p);
    p.keys = p.to_keys;
    p.values = p.to_values;
  }
}

KLAB_VARIANT(RadixSort, {.run = run, .parent = "01_bitonic", .tiles = {32, kStretch}});

}  // namespace
}  // namespace klab
