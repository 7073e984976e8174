// radix_sort.cuda.01_bitonic: a sorting network, one compare and exchange a thread and launch.
//
// CHANGE    the naive way to sort in parallel: log2(n)·(log2(n)+1)/2 rounds in which every pair has a partner. The number of
//           pairs is rounded up to a power of two with keys beyond all others. A network is not stable: where keys are equal, the
//           first place decides, which travels along. (Batcher, "Sorting networks and their applications", AFIPS 1968.)
// EXPECT    all pairs are read and written in each round: at a million of them 210 times.
// NUMERICS  copies.
// NEEDS     16 bytes a pair, rounded up to a power of two.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/radix_sort/radix_sort.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    begin(RadixSort::Args<float> x, int64_t padded, unsigned long long* keys, int* places) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= padded) return;
  keys[i] = i < x.shape.n ? static_cast<unsigned long long>(x.keys[i]) : ~0ULL;
  places[i] = int(i);
}

__global__ void __launch_bounds__(kThreads)
    exchange(int64_t padded, int64_t block, int64_t distance, unsigned long long* keys, int* places) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x, other = i ^ distance;
  if (i >= padded || other <= i) return;
  const unsigned long long a = keys[i], b = keys[other];
  const int at = places[i], bt = places[other];
  const bool above = a > b || (a == b && at > bt);
  if (above != ((i & block) == 0)) return;  // every second block is sorted downward
  keys[i] = b, keys[other] = a;
  places[i] = bt, places[other] = at;
}

__global__ void __launch_bounds__(kThreads)
    end(RadixSort::Args<float> x, const unsigned long long* keys, const int* places) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= x.shape.n) return;
  x.sorted_keys[i] = int64_t(keys[i]);
  x.sorted_values[i] = x.values[places[i]];
}

void run(const RadixSort::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n == 0) return;
  int64_t padded = 1;
  while (padded < n) padded *= 2;
  const cuda::Scratch scratch(size_t(padded) * 12);
  auto* keys = scratch.as<unsigned long long>();
  auto* places = reinterpret_cast<int*>(keys + padded);
  const auto blocks = unsigned((padded + kThreads - 1) / kThreads);
  cuda::launch(begin, blocks, kThreads, 0, x, padded, keys, places);
  for (int64_t block = 2; block <= padded; block *= 2)
    for (int64_t distance = block / 2; distance > 0; distance /= 2)
      cuda::launch(exchange, blocks, kThreads, 0, padded, block, distance, keys, places);
  cuda::launch(end, blocks, kThreads, 0, x, keys, places);
}

KLAB_VARIANT(RadixSort, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
