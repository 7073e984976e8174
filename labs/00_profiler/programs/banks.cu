// Lab 00, program 2: a shared array read in seven orders. Shared memory has 32 banks of 4 bytes. A warp that
// reads different words of one bank takes one pass (wavefront) for each. A test compares the comments with
// the counts.
//
//   klab trace labs/00_profiler/programs/banks.cu
#include <cuda_runtime.h>

#include <cstdio>

constexpr int kLanes = 32;

__global__ void banks(float* out) {
  __shared__ __align__(16) float s[33 * kLanes];
  const int lane = threadIdx.x;
  for (int k = lane; k < 33 * kLanes; k += kLanes) s[k] = float(k);  // shared store 4 B: 1 wavefronts/request
  __syncthreads();
  float sum = 0;
  sum += s[lane];       // shared load 4 B: 1 wavefronts/request
  sum += s[2 * lane];   // shared load 4 B: 2 wavefronts/request
  sum += s[8 * lane];   // shared load 4 B: 8 wavefronts/request
  sum += s[32 * lane];  // shared load 4 B: 32 wavefronts/request
  sum += s[33 * lane];  // shared load 4 B: 1 wavefronts/request
  sum += s[7];          // shared load 4 B: 1 wavefronts/request
  const float4* const fours = reinterpret_cast<const float4*>(s);
  const float4 four = fours[lane];                      // shared load 16 B: 4 wavefronts/request
  out[lane] = sum + four.x + four.y + four.z + four.w;  // store 4 B: 4 sectors/request
}

int main() {
  float* out = nullptr;
  float host[kLanes];
  if (cudaMalloc(&out, sizeof host) != cudaSuccess) return 2;
  banks<<<1, kLanes>>>(out);
  if (cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
  cudaFree(out);
  bool good = true;
  for (int lane = 0; lane < kLanes; ++lane)
    good = good && host[lane] == float((1 + 2 + 8 + 32 + 33) * lane + 7 + 16 * lane + 6);
  std::printf("banks %s\n", good ? "passed" : "failed");
  return good ? 0 : 1;
}
