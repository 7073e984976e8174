// right
// A barrier, then one thread's fence and ticket: the fence covers what the barrier has ordered before it. Warps do the same with
// __syncwarp().
__device__ unsigned tickets, tickets_of_warps;
__global__ void k(int* all, int* of_warps, int* out) {
  __shared__ bool last;
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  all[i] = i;
  __syncthreads();
  if (t == 0) {
    __threadfence();
    last = atomicInc(&tickets, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (last) {
    __threadfence();
    for (unsigned b = 0; b < gridDim.x; ++b) out[t] += all[b * blockDim.x + t];
  }
  of_warps[i] = 2 * i;
  __syncwarp();
  unsigned ticket = 0;
  if (t % 32 == 0) {
    __threadfence();
    ticket = atomicAdd(&tickets_of_warps, 1);
  }
  ticket = __shfl_sync(~0u, ticket, 0);
  if (ticket == gridDim.x * blockDim.x / 32 - 1) {
    __threadfence();
    int sum = 0;
    for (unsigned b = 0; b < gridDim.x * blockDim.x / 32; ++b) sum += of_warps[b * 32 + t % 32];
    out[blockDim.x + t % 32] = sum;
  }
}
int main() {
  int *all, *of_warps, *out, h[96];
  cudaMalloc(&all, 1024);
  cudaMalloc(&of_warps, 1024);
  cudaMalloc(&out, sizeof h);
  cudaMemset(out, 0, sizeof h);
  k<<<4, 64>>>(all, of_warps, out);
  cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(all);
  cudaFree(of_warps);
  cudaFree(out);
  return h[1] == 1 + 65 + 129 + 193 && h[64] == 2 * (0 + 32 + 64 + 96 + 128 + 160 + 192 + 224) ? 0 : 3;
}
