// wrong: which has the value of a variable that was never set
// A tile that is not full is sorted without a value for the rest: what was never set is compared, and may come first.
#include <cub/block/block_merge_sort.cuh>

struct Less {
  __device__ bool operator()(int a, int b) const { return a < b; }
};
__global__ void sorted(const int* in, int* out, int count) {
  using Sort = cub::BlockMergeSort<int, 64, 2>;
  __shared__ typename Sort::TempStorage storage;
  int keys[2];
  for (int k = 0; k < 2; ++k)
    if (int(threadIdx.x) * 2 + k < count) keys[k] = in[threadIdx.x * 2 + k];
  Sort(storage).Sort(keys, Less());  // found
  for (int k = 0; k < 2; ++k)
    if (int(threadIdx.x) * 2 + k < count) out[threadIdx.x * 2 + k] = keys[k];
}
int main() {
  int *in, *out;
  cudaMallocManaged(&in, 400);
  cudaMallocManaged(&out, 400);
  for (int k = 0; k < 100; ++k) in[k] = k;
  sorted<<<1, 64>>>(in, out, 100);
  cudaDeviceSynchronize();
  cudaFree(in), cudaFree(out);
}
