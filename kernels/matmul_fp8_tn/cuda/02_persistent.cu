// matmul_fp8_tn.cuda.02_persistent: nothing is turned, and a tile of 256 columns has its sums made in halves.
//
// CHANGE    the pipeline of matmul_fp8.cuda.03_turned_once without its first launch, on tiles of 128 x 256. A group has 64 x 256
//           floats and 64 x 128 sums of the tensor core: those of the left half of a step's columns, then those of the
//           right half in the same registers.
// EXPECT    128 x 128 tiles fetch 134 MB from L2 at 2048 cubed, 128 x 256 fetch 100 MB, and their 128 tiles are one round of 132
//           multiprocessors. wgmma takes 9 us, storing C 4 us behind it: some 16 us where the naive rung has a byte a request.
// NUMERICS  sums of 128 depths apart, added in float.
// NEEDS     compute capability 9.0, and only that one. 226 KB of shared memory.
// SASS      QGMMA.E4M3 UTMALDG UTMASTG USETMAXREG; no LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/matmul/hopper_bytes.h"
#include "reference/matmul_fp8_tn/matmul_fp8_tn.h"

namespace klab {
namespace {

using namespace hopper;

struct Job : ByteJob<256, 4, float> {
#if KLAB_HOPPER
  static constexpr int kBlocks = kColumns / 16;  // of 8 columns, in a half

  static __device__ __forceinline__ void multiply(Sum (&sums)[2 * kBlocks][4], persistent::Ring<Job>& ring,
                                                  int group, int steps) {
#pragma unroll
    for (int s = 0; s < 2 * kBlocks; ++s)
#pragma unroll
      for (int e = 0; e < 4; ++e) sums[s][e] = 0;
    float parts[kBlocks][4];
    for (int step = 0; step < steps; ++step, ring.next()) {
      const auto& tiles = ring.wait();
      const uint64_t a = describe_k_major(tiles.a + group * persistent::kGroupRows * kDepth);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const uint64_t b = describe_k_major(tiles.b + half * (kColumns / 2) * kDepth);
        multiply_begin();
#pragma unroll
        for (int p = 0; p < kDepth / 32; ++p) multiply_e4m3(parts, a + p * kNextK, b + p * kNextK, p > 0);
        multiply_commit();
        multiply_wait<0>();
        settle(parts);
        if (half == 1) ring.release(ring.stage);
#pragma unroll
        for (int s = 0; s < kBlocks; ++s)
#pragma unroll
          for (int e = 0; e < 4; ++e) sums[half * kBlocks + s][e] += parts[s][e];
      }
    }
  }
#endif
};

void run(const MatmulFp8Tn::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  if (k == 0) return cuda::fill_zero(x.c, size_t(m * n) * sizeof(float));
  multiply_matrices_along_k<Job>(x.a, x.b, x.scale, x.c, m, n, k);
}

KLAB_VARIANT(MatmulFp8Tn, {.run = run,
                           .parent = "01_naive",
                           .numerics = {.unit = Unit::f16},
                           .tiles = {32, 128, 256},
                           .expect = {.shape = {2048, 2048, 2048}, .over_parent = 100},
                           .supported = [](const MatmulFp8Tn::Shape&, const Host& host) {
                             return hopper::needs_hopper(host);
                           }});

}  // namespace
}  // namespace klab
