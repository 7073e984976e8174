// How a group multiplies tiles of bytes with signs: what matmul_int8.cuda.04_turned_once and 05_multicast share.
#pragma once

#include "kernels/common/matmul/hopper_bytes.h"

#if !KLAB_SIMT

namespace klab {
namespace {

template <int cluster>
struct Int8Job {
  static constexpr int kColumns = 256, kStages = 4, kCluster = cluster;
  using Sum = int;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  /// Tiles are released when the wgmma that read them is over, which is known one step later.
  static __device__ __forceinline__ void multiply(Sum (&sums)[kColumns / 8][4],
                                                  hopper::ByteRing<Int8Job>& ring, int group, int steps) {
    using namespace hopper;
    int before = 0;
    for (int step = 0; step < steps; ++step, ring.next()) {
      const auto& tiles = ring.wait();
      const uint64_t a = describe_k_major(tiles.a + group * (kByteRows / 2) * kByteDepth);
      const uint64_t b = describe_k_major(tiles.b);
      multiply_begin();
#pragma unroll
      for (int p = 0; p < kByteDepth / 32; ++p)
        multiply_s8(sums, a + p * kNextK, b + p * kNextK, step + p > 0);
      multiply_commit();
      multiply_wait<1>();
      if (step > 0) ring.release(before);
      before = ring.stage;
    }
    multiply_wait<0>();
    ring.release(before);
    settle(sums);
  }
#endif
};

}  // namespace
}  // namespace klab

#endif  // !KLAB_SIMT
