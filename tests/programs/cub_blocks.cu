// CUB's primitives of blocks and warps, from a toolkit's headers, each against plain code on the host.
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_merge_sort.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

#include <algorithm>
#include <numeric>
#include <vector>

#include "check.h"

constexpr int kThreads = 128, kItems = 4, kTile = kThreads * kItems;

struct Larger {
  template <class T>
  __host__ __device__ T operator()(const T& a, const T& b) const {
    return a < b ? b : a;
  }
};

struct Differs {
  template <class T>
  __host__ __device__ bool operator()(const T& a, const T& b) const {
    return a != b;
  }
};

template <cub::BlockReduceAlgorithm how>
__global__ void reduced(const float* in, float* out, int valid) {
  using Reduce = cub::BlockReduce<float, kThreads, how>;
  __shared__ typename Reduce::TempStorage storage;
  const float sum = Reduce(storage).Sum(in[threadIdx.x]);
  __syncthreads();
  const float largest = Reduce(storage).Reduce(in[threadIdx.x], Larger());
  __syncthreads();
  const float part = Reduce(storage).Sum(in[threadIdx.x], valid);
  if (threadIdx.x == 0) out[0] = sum, out[1] = largest, out[2] = part;
}

template <cub::BlockScanAlgorithm how>
__global__ void scanned(const int* in, int* out) {
  using Load = cub::BlockLoad<int, kThreads, kItems, cub::BLOCK_LOAD_TRANSPOSE>;
  using Store = cub::BlockStore<int, kThreads, kItems, cub::BLOCK_STORE_TRANSPOSE>;
  using Scan = cub::BlockScan<int, kThreads, how>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Store::TempStorage store;
    typename Scan::TempStorage scan;
  } storage;
  int x[kItems], before[kItems], most[kItems], total;
  Load(storage.load).Load(in, x);
  __syncthreads();
  Scan(storage.scan).ExclusiveSum(x, before, total);
  __syncthreads();
  Scan(storage.scan).InclusiveScan(x, most, Larger());
  __syncthreads();
  Store(storage.store).Store(out, before);
  __syncthreads();
  Store(storage.store).Store(out + kTile, most);
  if (threadIdx.x == 0) out[2 * kTile] = total;
}

__global__ void sorted(unsigned* keys, int* values, int* by_merge) {
  using Sort = cub::BlockRadixSort<unsigned, kThreads, kItems, int>;
  using Merge = cub::BlockMergeSort<int, kThreads, kItems>;
  __shared__ union {
    typename Sort::TempStorage sort;
    typename Merge::TempStorage merge;
  } storage;
  unsigned k[kItems];
  int v[kItems];
  cub::LoadDirectBlocked(threadIdx.x, keys, k);
  cub::LoadDirectBlocked(threadIdx.x, values, v);
  Sort(storage.sort).SortDescending(k, v);
  __syncthreads();
  cub::StoreDirectBlocked(threadIdx.x, keys, k);
  cub::StoreDirectBlocked(threadIdx.x, values, v);
  Merge(storage.merge).Sort(v, [](int a, int b) { return a < b; });
  cub::StoreDirectBlocked(threadIdx.x, by_merge, v);
}

__global__ void rearranged(const unsigned char* in, unsigned* histogram, int* heads, int* striped) {
  using Histogram = cub::BlockHistogram<unsigned char, kThreads, kItems, 16, cub::BLOCK_HISTO_ATOMIC>;
  using Heads = cub::BlockDiscontinuity<unsigned char, kThreads>;
  using Exchange = cub::BlockExchange<int, kThreads, kItems>;
  __shared__ union {
    typename Histogram::TempStorage histogram;
    typename Heads::TempStorage heads;
    typename Exchange::TempStorage exchange;
  } storage;
  __shared__ unsigned bins[16];
  unsigned char x[kItems];
  int flags[kItems];
  cub::LoadDirectBlocked(threadIdx.x, in, x);
  Histogram(storage.histogram).Histogram(x, bins);
  __syncthreads();
  if (threadIdx.x < 16) histogram[threadIdx.x] = bins[threadIdx.x];
  Heads(storage.heads).FlagHeads(flags, x, Differs());
  __syncthreads();
  cub::StoreDirectBlocked(threadIdx.x, heads, flags);
  int moved[kItems];
  for (int k = 0; k < kItems; ++k) moved[k] = x[k];
  Exchange(storage.exchange).BlockedToStriped(moved);
  for (int k = 0; k < kItems; ++k) striped[k * kThreads + threadIdx.x] = moved[k];
}

template <int lanes>
__global__ void of_warps(const int* in, int* sums, int* scans, int* sorts) {
  using Reduce = cub::WarpReduce<int, lanes>;
  using Scan = cub::WarpScan<int, lanes>;
  using Sort = cub::WarpMergeSort<int, 1, lanes>;
  constexpr int kWarps = kThreads / lanes;
  __shared__ typename Reduce::TempStorage reduce[kWarps];
  __shared__ typename Scan::TempStorage scan[kWarps];
  // A merge loads the element behind its last one, and does not use it.
  __shared__ union {
    int words[sizeof(typename Sort::TempStorage) * kWarps / 4];
    typename Sort::TempStorage each[kWarps];
  } sort;
  for (int k = threadIdx.x; k < int(sizeof sort / 4); k += kThreads) sort.words[k] = 0;
  __syncthreads();
  const int t = threadIdx.x, warp = t / lanes;
  const int sum = Reduce(reduce[warp]).Sum(in[t]);
  if (t % lanes == 0) sums[warp] = sum;
  int x[1] = {in[t]}, before;
  Scan(scan[warp]).ExclusiveSum(in[t], before);
  scans[t] = before;
  Sort(sort.each[warp]).Sort(x, [](int a, int b) { return a < b; });
  sorts[t] = x[0];
}

template <class T>
struct Managed {
  T* p;
  explicit Managed(int n) { CHECK(cudaMallocManaged(&p, n * sizeof(T))); }
  ~Managed() { cudaFree(p); }
  operator T*() const { return p; }
};

template <cub::BlockReduceAlgorithm how>
void check_reduction() {
  Managed<float> in(kThreads), out(3);
  for (int k = 0; k < kThreads; ++k) in[k] = float(k * 37 % 101);
  reduced<how><<<1, kThreads>>>(in, out, 50);
  CHECK(cudaDeviceSynchronize());
  require_near(out[0], std::accumulate(in.p, in.p + kThreads, 0.0), 0, "a block's sum");
  require_near(out[1], *std::max_element(in.p, in.p + kThreads), 0, "a block's largest");
  require_near(out[2], std::accumulate(in.p, in.p + 50, 0.0), 0, "a sum of some threads");
}
template <cub::BlockScanAlgorithm how>
void check_scan() {
  Managed<int> in(kTile), out(2 * kTile + 1);
  for (int k = 0; k < kTile; ++k) in[k] = k * 37 % 101 - 30;
  scanned<how><<<1, kThreads>>>(in, out);
  CHECK(cudaDeviceSynchronize());
  int sum = 0, most = in[0];
  for (int k = 0; k < kTile; ++k) {
    most = std::max(most, in[k]);
    require_near(out[k], sum, 0, "an exclusive sum");
    require_near(out[kTile + k], most, 0, "the largest so far");
    sum += in[k];
  }
  require_near(out[2 * kTile], sum, 0, "the sum of all");
}
void check_sort() {
  Managed<unsigned> keys(kTile);
  Managed<int> values(kTile), by_merge(kTile);
  std::vector<std::pair<unsigned, int>> wanted(kTile);
  for (int k = 0; k < kTile; ++k) {
    keys[k] = unsigned(k) * 2654435761u >> 20;
    values[k] = 7 * k - 900;
    wanted[k] = {keys[k], values[k]};
  }
  std::stable_sort(wanted.begin(), wanted.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  sorted<<<1, kThreads>>>(keys, values, by_merge);
  CHECK(cudaDeviceSynchronize());
  for (int k = 0; k < kTile; ++k) {
    require_near(keys[k], wanted[k].first, 0, "a sorted key");
    require_near(values[k], wanted[k].second, 0, "the value of a sorted key");
    require_near(by_merge[k], 7 * k - 900, 0, "a key sorted by merges");
  }
}
void check_rearranged() {
  Managed<unsigned char> in(kTile);
  Managed<unsigned> histogram(16);
  Managed<int> heads(kTile), striped(kTile);
  unsigned wanted[16] = {};
  for (int k = 0; k < kTile; ++k) ++wanted[in[k] = (unsigned char)(k / 3 * 7 % 16)];
  rearranged<<<1, kThreads>>>(in, histogram, heads, striped);
  CHECK(cudaDeviceSynchronize());
  for (int k = 0; k < 16; ++k) require_near(histogram[k], wanted[k], 0, "a bin of a histogram");
  for (int k = 0; k < kTile; ++k) {
    require_near(heads[k], k == 0 || in[k] != in[k - 1], 0, "the head of a run");
    require_near(striped[k], in[k], 0, "an element that has been exchanged");
  }
}
template <int lanes>
void check_warps() {
  Managed<int> in(kThreads), sums(kThreads / lanes), scans(kThreads), sorts(kThreads);
  for (int k = 0; k < kThreads; ++k) in[k] = k * 37 % 101;
  of_warps<lanes><<<1, kThreads>>>(in, sums, scans, sorts);
  CHECK(cudaDeviceSynchronize());
  for (int w = 0; w < kThreads / lanes; ++w) {
    std::vector<int> part(in.p + w * lanes, in.p + (w + 1) * lanes);
    int sum = 0;
    for (int k = 0; k < lanes; ++k) {
      require_near(scans[w * lanes + k], sum, 0, "a warp's exclusive sum");
      sum += part[k];
    }
    require_near(sums[w], sum, 0, "a warp's sum");
    std::sort(part.begin(), part.end());
    for (int k = 0; k < lanes; ++k) require_near(sorts[w * lanes + k], part[k], 0, "a warp's sorted number");
  }
}

int main() {
  check_reduction<cub::BLOCK_REDUCE_WARP_REDUCTIONS>();
  check_reduction<cub::BLOCK_REDUCE_RAKING>();
  check_reduction<cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>();
  check_scan<cub::BLOCK_SCAN_WARP_SCANS>();
  check_scan<cub::BLOCK_SCAN_RAKING>();
  check_sort();
  check_rearranged();
  check_warps<32>();
  check_warps<8>();
  std::printf("cub_blocks passed\n");
}
