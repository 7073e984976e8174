// matmul_fp8.cuda.03_turned_once: B is turned once, and wgmma multiplies what TMA fetches.
//
// CHANGE    a kernel writes B as [n, k] before the product, and both factors lie along k: the pipeline of
//           matmul_int8.cuda.04_turned_once. A group has 64 x 128 sums twice: those of a step, 128 depths in the tensor core,
//           and the floats to which it adds them.
// EXPECT    the additions take a group's 128 threads 64 instructions each a step, while the other group's wgmma runs. Turning
//           B takes some 5 us with the launch; the product fetches 134 MB from L2 at 2048 cubed, 13 us, and stores 17 MB, 4 us:
//           at least ten times the parent.
// NUMERICS  as the parent: sums of 128 depths apart.
// NEEDS     compute capability 9.0, and only that one. 226 KB of shared memory; device memory for B.
// SASS      QGMMA.E4M3 UTMALDG UTMASTG USETMAXREG; no LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/matmul/hopper_bytes.h"
#include "reference/matmul_fp8/matmul_fp8.h"

namespace klab {
namespace {

using namespace hopper;

struct Job : ByteJob<128, 6, float> {
#if KLAB_HOPPER
  static __device__ __forceinline__ void multiply(Sum (&sums)[kColumns / 8][4], persistent::Ring<Job>& ring,
                                                  int group, int steps) {
#pragma unroll
    for (int s = 0; s < kColumns / 8; ++s)
#pragma unroll
      for (int e = 0; e < 4; ++e) sums[s][e] = 0;
    float parts[kColumns / 8][4];
    for (int step = 0; step < steps; ++step, ring.next()) {
      const auto& tiles = ring.wait();
      const uint64_t a = describe_k_major(tiles.a + group * persistent::kGroupRows * kDepth);
      const uint64_t b = describe_k_major(tiles.b);
      multiply_begin();
#pragma unroll
      for (int p = 0; p < kDepth / 32; ++p) multiply_e4m3(parts, a + p * kNextK, b + p * kNextK, p > 0);
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

void run(const MatmulFp8::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  if (k == 0) return cuda::fill_zero(x.c, size_t(m * n) * sizeof(float));
  multiply_matrices_of_bytes<Job>(x.a, x.b, x.scale, x.c, m, n, k);
}

KLAB_VARIANT(MatmulFp8,
             {.run = run,
              .parent = "02_mma_sync",
              .numerics = {.unit = Unit::f16},
              .tiles = {32, 128},
              .expect = {.shape = {2048, 2048, 2048}, .over_parent = 10},
              .when = {{2048, 2048, 2048}, "compute capability 9.0, and tiles that only large matrices fill"},
              .supported = [](const MatmulFp8::Shape&, const Host& host) {
                return hopper::needs_hopper(host);
              }});

}  // namespace
}  // namespace klab
