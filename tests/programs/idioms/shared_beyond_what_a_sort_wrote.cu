// wrong: which no thread of the block has written
// The program itself reads the element behind the last one that CUB has written: that stays a finding.
#include <cub/block/block_merge_sort.cuh>

struct Less {
  __device__ bool operator()(int a, int b) const { return a < b; }
};
__global__ void sorted(const int* in, int* out) {
  using Sort = cub::BlockMergeSort<int, 32, 1>;
  __shared__ typename Sort::TempStorage storage;
  int keys[1] = {in[threadIdx.x]};
  Sort(storage).Sort(keys, Less());
  __syncthreads();
  const int* words = reinterpret_cast<const int*>(&storage);
  out[threadIdx.x] = keys[0] + words[threadIdx.x + 1];  // found
}
int main() {
  int *in, *out;
  cudaMallocManaged(&in, 128);
  cudaMallocManaged(&out, 128);
  for (int k = 0; k < 32; ++k) in[k] = 31 - k;
  sorted<<<1, 32>>>(in, out);
  cudaDeviceSynchronize();
  cudaFree(in), cudaFree(out);
}
