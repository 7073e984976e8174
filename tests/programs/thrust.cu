// Thrust's vectors and algorithms next to a kernel of the program, and cuda/std in kernels.
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <cuda/std/array>
#include <cuda/std/limits>

#include "check.h"

struct Twice {
  __host__ __device__ int operator()(int x) const { return 2 * x; }
};

__global__ void add(int* p, int n) {
  const cuda::std::array<int, 2> parts{1, cuda::std::numeric_limits<signed char>::max() - 127};
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < n) p[k] += parts[0] + parts[1];
}

int main() {
  const int n = 1000;
  thrust::host_vector<int> host(n);
  for (int k = 0; k < n; ++k) host[k] = k * 7919 % n;
  thrust::device_vector<int> numbers = host, sums(n);
  thrust::sort(numbers.begin(), numbers.end());
  add<<<(n + 127) / 128, 128>>>(thrust::raw_pointer_cast(numbers.data()), n);
  require_near(thrust::reduce(numbers.begin(), numbers.end(), 0, thrust::plus<int>()), n * (n + 1) / 2, 0,
               "a sum");
  thrust::inclusive_scan(numbers.begin(), numbers.end(), sums.begin());
  require_near(sums[n - 1], n * (n + 1) / 2, 0, "a sum of all before");
  thrust::transform(numbers.begin(), numbers.end(), numbers.begin(), Twice());
  require_near(numbers[9], 20, 0, "a number");
  std::printf("thrust passed\n");
}
