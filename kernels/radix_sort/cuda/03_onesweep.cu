// radix_sort.cuda.03_onesweep: pairs are read once and written once a digit.
//
// CHANGE    one reading of the keys counts the digits of all passes. In a pass a block takes a tile of 4,608 pairs by ticket,
//           ranks its keys in registers and sorts it by the digit in shared memory. It finds where its pairs of each digit go
//           by looking back at the counts of earlier tiles, a thread a digit (Adinets, Merrill, "Onesweep: a faster least
//           significant digit radix sort for GPUs", 2022: arXiv 2206.01784). Then it writes runs of neighbors.
// EXPECT    24 bytes a pair and pass in place of 32 and a scan by one block, and sectors that are written whole but for
//           a run's ends: some 700 us for 2^22 pairs of 64 bits, a twentieth of the parent's time.
// NUMERICS  copies.
// NEEDS     12 bytes a pair; 1 KiB a tile and pass; fewer than 2^30 pairs, since a word holds a count and two bits of state.
// SASS      ATOMG.ADD LDG.STRONG STG.STRONG; no LDL STL CALL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/digits.h"
#include "kernels/common/look_back.h"
#include "reference/radix_sort/radix_sort.h"

namespace klab {
namespace {

using cuda::digit_of;
using cuda::kDigits;
using Key = unsigned long long;

constexpr int kThreads = 384, kWarps = kThreads / 32, kItems = 12, kTile = kThreads * kItems;
constexpr int kWindow = 4;  // words that a look back has in flight
static_assert(kThreads >= kDigits, "a thread a digit");

struct Pass {
  int n, shift;
  const Key* keys;
  const int32_t* values;
  Key* to_keys;
  int32_t* to_values;
  const unsigned* begins;  // [digits]: of each digit's pairs
  unsigned* ticket;
  cuda::LookBackCounts back;
};

__global__ void __launch_bounds__(kThreads) sort_tile(Pass p) {
  KLAB_DYNAMIC_SHARED(Key, sorted);               // [tile]; later values
  __shared__ unsigned of_warps[kWarps][kDigits];  // counts; then places within the digit's pairs
  __shared__ unsigned local[kDigits];             // where a digit begins in the tile
  __shared__ unsigned place[kDigits];             // that added to a place in the tile is one in the output
  __shared__ unsigned sums[kDigits / 32], ticket;
  const int t = int(threadIdx.x), lane = t % 32, warp = t / 32;
  if (t == 0) ticket = atomicAdd(p.ticket, 1U);
  for (int d = lane; d < kDigits; d += 32) of_warps[warp][d] = 0;
  __syncthreads();
  const int tile = int(ticket), left = p.n - tile * kTile, here = left < kTile ? left : kTile;
  // A warp has neighbors, 32 at a time, so that order is by item and then by lane. Keys beyond the end are the largest, and
  // come last in the tile.
  const int first = tile * kTile + warp * (32 * kItems) + lane;
  Key keys[kItems];
#pragma unroll
  for (int k = 0; k < kItems; ++k) keys[k] = first + 32 * k < p.n ? p.keys[first + 32 * k] : ~Key(0);
  unsigned ranks[kItems];
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const int d = digit_of(keys[k], p.shift);
    const unsigned alike = cuda::lanes_with_digit(d), before = of_warps[warp][d];
    ranks[k] = before + unsigned(__popc(alike & ((1U << lane) - 1)));
    __syncwarp();  // all have read before the last of each digit writes
    if ((alike >> lane) == 1U) of_warps[warp][d] = before + unsigned(__popc(alike));
    __syncwarp();
  }
  __syncthreads();
  unsigned own = 0, lower = 0;
  if (t < kDigits) {
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      const unsigned count = of_warps[w][t];
      of_warps[w][t] = own;
      own += count;
    }
    p.back.publish_own(tile, t, own);
    lower = cuda::scan_warp(own, [](unsigned a, unsigned b) { return a + b; }) - own;
    if (lane == 31) sums[warp] = lower + own;
  }
  __syncthreads();
  if (t < kDigits) {
    for (int w = 0; w < warp; ++w) lower += sums[w];
    local[t] = lower;
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const int d = digit_of(keys[k], p.shift);
    ranks[k] += local[d] + of_warps[warp][d];
    sorted[ranks[k]] = keys[k];
  }
  int32_t values[kItems];
#pragma unroll
  for (int k = 0; k < kItems; ++k) values[k] = first + 32 * k < p.n ? p.values[first + 32 * k] : 0;
  if (t < kDigits) {
    const unsigned before = p.back.sum_before<kWindow>(tile, t, own);
    place[t] = p.begins[t] + before - lower;
  }
  __syncthreads();
  unsigned to[kItems];
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const int j = t + kThreads * k;
    const Key key = sorted[j];
    to[k] = place[digit_of(key, p.shift)] + unsigned(j);
    if (j < here) p.to_keys[to[k]] = key;
  }
  __syncthreads();
  auto* const moved = reinterpret_cast<int32_t*>(sorted);
#pragma unroll
  for (int k = 0; k < kItems; ++k) moved[ranks[k]] = values[k];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const int j = t + kThreads * k;
    if (j < here) p.to_values[to[k]] = moved[j];
  }
}

void run(const RadixSort::Args<float>& x) {
  const auto [n, bits] = x.shape;
  if (n == 0) return;
  const int64_t tiles = (n + kTile - 1) / kTile, passes = (bits + 7) / 8;
  // Begins, tickets, the counter of blocks and words are cleared together.
  const size_t cleared = size_t(passes * kDigits + passes + 1 + passes * tiles * kDigits) * sizeof(unsigned);
  const cuda::Scratch scratch(size_t(n) * 12 + cleared);
  auto* keys = scratch.as<Key>();
  auto* values = reinterpret_cast<int32_t*>(keys + n);
  auto* begins = reinterpret_cast<unsigned*>(values + n);
  unsigned *const tickets = begins + passes * kDigits, *const words = tickets + passes + 1;
  cuda::fill_zero(begins, cleared);
  cuda::allow_shared(sort_tile, kTile * sizeof(Key));
  Pass p{.n = int(n), .keys = reinterpret_cast<const Key*>(x.keys), .values = x.values};
  const int64_t most = cuda::device().multiprocessors,
                wanted = (n + cuda::kDigitCounters - 1) / cuda::kDigitCounters;
  cuda::launch(cuda::count_digits, unsigned(wanted < most ? wanted : most), cuda::kDigitCounters, 0, p.n,
               int(passes), p.keys, begins, tickets + passes);
  for (int64_t k = 0; k < passes; ++k) {
    const bool last_here = (passes - k) % 2 == 1;  // the last pass ends in the output
    p.shift = int(8 * k);
    p.to_keys = last_here ? reinterpret_cast<Key*>(x.sorted_keys) : keys;
    p.to_values = last_here ? x.sorted_values : values;
    p.begins = begins + k * kDigits;
    p.ticket = tickets + k;
    p.back = {words + k * tiles * kDigits, kDigits};
    cuda::launch(sort_tile, unsigned(tiles), kThreads, kTile * sizeof(Key), p);
    p.keys = p.to_keys;
    p.values = p.to_values;
  }
}

KLAB_VARIANT(RadixSort, {.run = run,
                         .parent = "02_histogram_scan_scatter",
                         .tiles = {32, kThreads, kTile},
                         .expect = {.shape = {1 << 22, 64}, .over_parent = 20},
                         .supported = [](const RadixSort::Shape& s, const Host&) -> std::string {
                           return s.n >= 1 << 30 ? "2^30 pairs or more" : "";
                         }});

}  // namespace
}  // namespace klab
