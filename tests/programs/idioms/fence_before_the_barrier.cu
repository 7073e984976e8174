// wrong: race on global memory
// Thread 0 fences, then all meet: the others' stores are behind no fence.
__device__ unsigned tickets;
__global__ void k(int* all, int* out) {
  __shared__ bool last;
  const int t = threadIdx.x;
  all[blockIdx.x * blockDim.x + t] = t;
  if (t == 0) __threadfence();
  __syncthreads();
  if (t == 0) last = atomicAdd(&tickets, 1) == gridDim.x - 1;
  __syncthreads();
  if (last)
    for (unsigned b = 0; b < gridDim.x; ++b) out[t] += all[b * blockDim.x + t];  // found
}
int main() {
  int *all, *out;
  cudaMalloc(&all, 1024);
  cudaMalloc(&out, 256);
  cudaMemset(out, 0, 256);
  k<<<4, 64>>>(all, out);
  cudaDeviceSynchronize();
  cudaFree(all);
  cudaFree(out);
}
