// How a group multiplies tiles of e4m3: what matmul_fp8.cuda.03_turned_once and 04_multicast share.
#pragma once

#include "kernels/common/matmul/hopper_bytes.h"

#if !KLAB_SIMT

namespace klab {
namespace {

template <int cluster>
struct Fp8Job {
  static constexpr int kColumns = 128, kStages = 6, kCluster = cluster;
  using Sum = float;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  static __device__ __forceinline__ void multiply(Sum (&sums)[kColumns / 8][4],
                                                  hopper::ByteRing<Fp8Job>& ring, int group, int steps) {
    using namespace hopper;
#pragma unroll
    for (int s = 0; s < kColumns / 8; ++s)
#pragma unroll
      for (int e = 0; e < 4; ++e) sums[s][e] = 0;
    float parts[kColumns / 8][4];
    for (int step = 0; step < steps; ++step, ring.next()) {
      const auto& tiles = ring.wait();
      const uint64_t a = describe_k_major(tiles.a + group * (kByteRows / 2) * kByteDepth);
      const uint64_t b = describe_k_major(tiles.b);
      multiply_begin();
#pragma unroll
      for (int p = 0; p < kByteDepth / 32; ++p) multiply_e4m3(parts, a + p * kNextK, b + p * kNextK, p > 0);
      multiply_commit();
      multiply_wait<0>();
      settle(parts);
      ring.release(ring.stage);
#pragma unroll
      for (int s = 0; s < kColumns / 8; ++s)
#pragma unroll
        for (int e = 0; e < 4; ++e) sums[s][e] += parts[s][e];
    }
  }
#endif
};

}  // namespace
}  // namespace klab

#endif  // !KLAB_SIMT
