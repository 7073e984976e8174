// wrong: cudaGetSymbolAddress
struct Job {
  int n;
  float* to;
};
__device__ float results[32];
__global__ void k(Job job) {
  if (threadIdx.x < job.n) job.to[threadIdx.x] = 1;
}
int main() {
  Job job{32, results};
  k<<<1, 32>>>(job);  // found
  cudaDeviceSynchronize();
}
