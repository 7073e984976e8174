// right
// CUB's merges load the element behind their last one, which may never have been written, and do not use it: of a block whose tile is
// not full, of warps, and with values of eight bytes.
#include <cub/block/block_merge_sort.cuh>
#include <cub/warp/warp_merge_sort.cuh>

#include <cstdio>

constexpr int kThreads = 64, kItems = 3, kCount = 150;
struct Less {
  template <class T>
  __device__ bool operator()(const T& a, const T& b) const {
    return a < b;
  }
};

__global__ void of_a_block(const int* in, double* out, short* places) {
  using Sort = cub::BlockMergeSort<double, kThreads, kItems, short>;
  __shared__ typename Sort::TempStorage storage;
  double keys[kItems];
  short values[kItems];
  for (int k = 0; k < kItems; ++k) {
    const int at = int(threadIdx.x) * kItems + k;
    keys[k] = at < kCount ? in[at] : 1e9;
    values[k] = short(at);
  }
  Sort(storage).Sort(keys, values, Less(), kCount, 1e9);
  for (int k = 0; k < kItems; ++k)
    if (int(threadIdx.x) * kItems + k < kCount) {
      out[threadIdx.x * kItems + k] = keys[k];
      places[threadIdx.x * kItems + k] = values[k];
    }
}
__global__ void of_warps(const int* in, short* out) {
  using Sort = cub::WarpMergeSort<short, 2, 32>;
  __shared__ typename Sort::TempStorage storage[kThreads / 32];
  short keys[2] = {short(in[2 * threadIdx.x]), short(in[2 * threadIdx.x + 1])};
  Sort(storage[threadIdx.x / 32]).Sort(keys, Less());
  out[2 * threadIdx.x] = keys[0];
  out[2 * threadIdx.x + 1] = keys[1];
}

int main() {
  int* in;
  double* out;
  short *places, *halves;
  cudaMallocManaged(&in, kCount * sizeof(int));
  cudaMallocManaged(&out, kCount * sizeof(double));
  cudaMallocManaged(&places, kCount * sizeof(short));
  cudaMallocManaged(&halves, 2 * kThreads * sizeof(short));
  for (int k = 0; k < kCount; ++k) in[k] = k * 37 % kCount;
  of_a_block<<<1, kThreads>>>(in, out, places);
  of_warps<<<1, kThreads>>>(in, halves);
  cudaDeviceSynchronize();
  int wrong = 0;
  for (int k = 0; k < kCount; ++k) wrong += out[k] != k || in[places[k]] != k;
  for (int k = 1; k < 2 * kThreads; ++k) wrong += k % 64 != 0 && halves[k - 1] > halves[k];
  if (wrong != 0) std::printf("%d wrong\n", wrong);
  cudaFree(in), cudaFree(out), cudaFree(places), cudaFree(halves);
  return wrong != 0;
}
