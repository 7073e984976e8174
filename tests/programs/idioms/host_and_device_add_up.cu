// right
// Host and device update managed words by atomics at the same time.
#include <atomic>
__global__ void count(int* words) {
  atomicAdd_system(&words[0], 1);
  atomicMax_system(&words[1], int(threadIdx.x));
}
int main() {
  int concurrent = 0, *words;
  cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, 0);
  cudaMallocManaged(&words, 8);
  words[0] = words[1] = 0;
  count<<<2, 64>>>(words);
  __sync_fetch_and_add(&words[0], 5);
  __atomic_fetch_add(&words[0], 2, __ATOMIC_SEQ_CST);
  cudaDeviceSynchronize();
  const bool right = words[0] == 135 && words[1] == 63;
  cudaFree(words);
  return right && concurrent == 1 ? 0 : 3;
}
