// Merge sort: small runs by odd-even steps in shared memory, then merges in which each thread finds the rank of its element by
// binary search in the other run. Divergent, data-dependent.
#include <algorithm>
#include <vector>

#include "check.h"

static __device__ unsigned rank_of(unsigned key, const unsigned* run, unsigned n, bool after_equal) {
  unsigned low = 0, high = n;
  while (low < high) {
    const unsigned middle = (low + high) / 2;
    if (run[middle] < key || (after_equal && run[middle] == key))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}
__global__ void sort_runs(unsigned* keys) {
  __shared__ unsigned s[64];
  const unsigned t = threadIdx.x;
  s[t] = keys[blockIdx.x * 64 + t];
  s[t + 32] = keys[blockIdx.x * 64 + t + 32];
  for (unsigned step = 0; step < 64; ++step) {
    __syncthreads();
    const unsigned k = 2 * t + (step & 1);
    if (k + 1 < 64 && s[k] > s[k + 1]) {
      const unsigned x = s[k];
      s[k] = s[k + 1];
      s[k + 1] = x;
    }
  }
  __syncthreads();
  keys[blockIdx.x * 64 + t] = s[t];
  keys[blockIdx.x * 64 + t + 32] = s[t + 32];
}
__global__ void merge_runs(const unsigned* from, unsigned* to, unsigned run, unsigned n) {
  const unsigned k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= n) return;
  const unsigned pair = k / (2 * run) * 2 * run, in_pair = k - pair;
  const bool second = in_pair >= run;
  const unsigned* other = from + pair + (second ? 0 : run);
  const unsigned rank = rank_of(from[k], other, run, second);
  to[pair + (second ? in_pair - run : in_pair) + rank] = from[k];
}

int main() {
  const unsigned n = 1024;
  std::vector<unsigned> keys(n), sorted(n);
  srand(2009);
  for (unsigned& k : keys) k = unsigned(rand()) % 65536;
  unsigned *a, *b;
  CHECK(cudaMalloc(&a, n * 4));
  CHECK(cudaMalloc(&b, n * 4));
  CHECK(cudaMemcpy(a, keys.data(), n * 4, cudaMemcpyHostToDevice));
  sort_runs<<<n / 64, 32>>>(a);
  for (unsigned run = 64; run < n; run *= 2) {
    merge_runs<<<n / 128, 128>>>(a, b, run, n);
    std::swap(a, b);
  }
  CHECK(cudaMemcpy(sorted.data(), a, n * 4, cudaMemcpyDeviceToHost));
  std::sort(keys.begin(), keys.end());
  for (unsigned k = 0; k < n; ++k) require_near(sorted[k], keys[k], 0, "a key");
  cudaFree(a), cudaFree(b);
  std::printf("merge_sort passed\n");
}
