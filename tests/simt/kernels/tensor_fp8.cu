// One product of bytes on a tensor core, 16 x 32 times 32 x 8, of matrices in memory; lanes hold the elements
// given in the PTX manual (kernels/common/mma.h).
#include "kernels/common/fp8.h"
#include "kernels/common/mma.h"

namespace {

namespace cuda = klab::cuda;

__device__ uint32_t four(const uint8_t* bytes) {
  return uint32_t(bytes[0]) | uint32_t(bytes[1]) << 8 | uint32_t(bytes[2]) << 16 | uint32_t(bytes[3]) << 24;
}

/// d[16][8] = a[16][32] b[8][32]^T + c[16][8]
__global__ void product(const uint8_t* a, const uint8_t* b, const float* c, float* d, bool e5m2) {
  const int group = int(threadIdx.x) / 4, in = int(threadIdx.x) % 4;
  uint32_t of_a[4], of_b[2];
  float sum[4];
  for (int r = 0; r < 4; ++r) of_a[r] = four(a + (group + r % 2 * 8) * 32 + r / 2 * 16 + 4 * in);
  for (int r = 0; r < 2; ++r) of_b[r] = four(b + group * 32 + r * 16 + 4 * in);
  for (int r = 0; r < 4; ++r) sum[r] = c[(group + r / 2 * 8) * 8 + 2 * in + r % 2];
  if (e5m2)
    cuda::mma_m16n8k32_e5m2_e4m3(sum, of_a, of_b, sum);
  else
    cuda::mma_m16n8k32_e4m3(sum, of_a, of_b, sum);
  for (int r = 0; r < 4; ++r) d[(group + r / 2 * 8) * 8 + 2 * in + r % 2] = sum[r];
}

__global__ void convert(const float* x, uint32_t* pairs, bool e5m2) {
  const float low = x[2 * threadIdx.x], high = x[2 * threadIdx.x + 1];
  pairs[threadIdx.x] = e5m2 ? cuda::e5m2_pair(low, high) : cuda::e4m3_pair(low, high);
}

}  // namespace

/// The product of host memory.
extern "C" __attribute__((visibility("default"))) void tensor_fp8_product(const uint8_t* a, const uint8_t* b,
                                                                          const float* c, float* d,
                                                                          bool e5m2) {
  const cuda::Scratch of_a(16 * 32), of_b(8 * 32), of_c(16 * 8 * 4), of_d(16 * 8 * 4);
  cuda::upload(of_a.as<uint8_t>(), a, 16 * 32);
  cuda::upload(of_b.as<uint8_t>(), b, 8 * 32);
  cuda::upload(of_c.as<float>(), c, 16 * 8 * 4);
  cuda::launch(product, 1, 32, 0, of_a.as<uint8_t>(), of_b.as<uint8_t>(), of_c.as<float>(), of_d.as<float>(),
               e5m2);
  cuda::download(d, of_d.as<float>(), 16 * 8 * 4);
}

/// 64 floats as 32 pairs.
extern "C" __attribute__((visibility("default"))) void tensor_fp8_convert(const float* x, uint32_t* pairs,
                                                                          bool e5m2) {
  const cuda::Scratch from(64 * 4), to(32 * 4);
  cuda::upload(from.as<float>(), x, 64 * 4);
  cuda::launch(convert, 1, 32, 0, from.as<float>(), to.as<uint32_t>(), e5m2);
  cuda::download(pairs, to.as<uint32_t>(), 32 * 4);
}
