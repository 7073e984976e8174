// wrong: no fence (__threadfence) lies between that and this access
// A lock is taken without a fence behind it: the sum may be read before.
__device__ int lock;
__global__ void add(int* sum) {
  if (threadIdx.x == 0) {
    while (atomicCAS(&lock, 0, 1) != 0) {
    }
    *sum += 1;  // found
    __threadfence();
    atomicExch(&lock, 0);
  }
}
int main() {
  int* sum;
  cudaMalloc(&sum, 4);
  cudaMemset(sum, 0, 4);
  add<<<8, 32>>>(sum);
  cudaDeviceSynchronize();
  cudaFree(sum);
}
