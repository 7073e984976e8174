// right
// Blocks pass numbers to later ones by flags: volatile with fences, by acquire and release in PTX, with a barrier behind the flag, by
// data that are volatile too; warps of a block do so in shared memory.
#include <cstdio>
__device__ unsigned tickets[4];
__device__ int load_acquire(const int* p) {
  int x;
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(x) : "l"(p) : "memory");
  return x;
}
__device__ void store_release(int* p, int x) {
  asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(p), "r"(x) : "memory");
}
__global__ void by_fences(volatile int* done, int* y) {
  if (threadIdx.x != 0) return;
  const int b = int(atomicAdd(&tickets[0], 1));
  int before = 0;
  if (b > 0) {
    while (done[b - 1] == 0) {
    }
    __threadfence();
    before = y[b - 1];
  }
  y[b] = before + b;
  __threadfence();
  done[b] = 1;
}
__global__ void by_acquire_and_release(int* done, int* y) {
  if (threadIdx.x != 0) return;
  const int b = int(atomicAdd(&tickets[1], 1));
  int before = 0;
  if (b > 0) {
    while (load_acquire(done + b - 1) == 0) {
    }
    before = y[b - 1];
  }
  y[b] = before + b;
  store_release(done + b, 1);
}
__global__ void by_barriers(volatile int* done, int* y) {
  __shared__ int mine;
  if (threadIdx.x == 0) {
    mine = int(atomicAdd(&tickets[2], 1));
    if (mine > 0)
      while (done[mine - 1] == 0) {
      }
  }
  __syncthreads();
  const int b = mine, t = threadIdx.x;
  y[b * 32 + t] = (b > 0 ? y[(b - 1) * 32 + 31 - t] : 0) + t;
  __threadfence();
  __syncthreads();
  if (t == 0) done[b] = 1;
}
__global__ void by_volatile_data(volatile int* done, volatile int* y) {
  if (threadIdx.x != 0) return;
  const int b = int(atomicAdd(&tickets[3], 1));
  int before = 0;
  if (b > 0) {
    while (done[b - 1] == 0) {
    }
    before = y[b - 1];
  }
  y[b] = before + b;
  __threadfence();
  done[b] = 1;
}
__global__ void by_words(unsigned long long* words, int* y) {  // flag and number in one
  const int b = blockIdx.x;
  if (threadIdx.x != 0) return;
  unsigned long long before = 0;
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(words + b), "l"((1ull << 32) + b) : "memory");
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(before) : "l"(words + b / 2) : "memory");
  y[b] = before >> 32 == 0 ? 0 : int(before) == b / 2;
}
__global__ void between_warps(int* y) {
  __shared__ int value[32];
  __shared__ volatile int ready;
  const int t = threadIdx.x;
  if (t == 0) ready = 0;
  __syncthreads();
  if (t < 32) {
    value[t] = 3 * t;
    __syncwarp();
    __threadfence_block();
    if (t == 0) ready = 1;
  } else {
    while (ready == 0) {
    }
    __threadfence_block();
    y[t - 32] = value[63 - t];
  }
}
int main() {
  constexpr int kBlocks = 24;
  int *done, *y, h[kBlocks * 32], wrong = 0;
  unsigned long long* words;
  cudaMalloc(&done, kBlocks * 4);
  cudaMalloc(&y, sizeof h);
  cudaMalloc(&words, kBlocks * 8);
  const auto check = [&](const char* what, int at, int wanted) {
    cudaMemcpy(h, y, kBlocks * 4, cudaMemcpyDeviceToHost);
    cudaMemset(done, 0, kBlocks * 4);
    wrong += h[at] != wanted && std::printf("%s: %d, not %d\n", what, h[at], wanted);
  };
  cudaMemset(y, 0, sizeof h);
  check("nothing", 0, 0);
  by_fences<<<kBlocks, 32>>>(done, y);
  check("by_fences", kBlocks - 1, 276);
  by_acquire_and_release<<<kBlocks, 32>>>(done, y);
  check("by_acquire_and_release", kBlocks - 1, 276);
  by_volatile_data<<<kBlocks, 32>>>(done, y);
  check("by_volatile_data", kBlocks - 1, 276);
  by_barriers<<<kBlocks, 32>>>(done, y);
  check("by_barriers", 5, 5);
  cudaMemset(words, 0, kBlocks * 8);
  by_words<<<kBlocks, 32>>>(words, y);
  check("by_words", 0, 1);
  between_warps<<<1, 64>>>(y);
  check("between_warps", 1, 90);
  cudaFree(done);
  cudaFree(y);
  cudaFree(words);
  return wrong == 0 ? 0 : 3;
}
