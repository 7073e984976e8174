// matmul_int8.cuda.04_turned_once: B is turned once, and the tensor cores are fed as fast as they multiply.
//
// CHANGE    a kernel writes B as [n, k] before the product, 4 x 4 bytes a thread in registers. Both factors then lie along k, as
//           Hopper's wgmma needs bytes, and TMA fetches tiles of 128 x 128 and 256 x 128 of them: the pipeline of
//           matmul_bf16.cuda.05_persistent, with 64 x 256 sums of 32 bits a group. Columns are scaled on the way to memory.
// EXPECT    the parent turns each byte of B m/64 times, one load a byte, with nothing in flight. Turning it once moves two bytes
//           for each at 2048 cubed, some 5 us with the launch; the product has 9 us of wgmma and stores 17 MB, 4 us:
//           at least ten times the parent.
// NUMERICS  as the parent.
// NEEDS     compute capability 9.0, and only that one. 226 KB of shared memory; device memory for B.
// SASS      IGMMA.64x256x32 UTMALDG UTMASTG USETMAXREG; no LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/matmul/hopper_bytes.h"
#include "reference/matmul_int8/matmul_int8.h"

namespace klab {
namespace {

using namespace hopper;

struct Job : ByteJob<256, 4, int> {
#if KLAB_HOPPER
  /// Tiles are released when the wgmma that read them is over, which is known one step later.
  static __device__ __forceinline__ void multiply(Sum (&sums)[kColumns / 8][4], persistent::Ring<Job>& ring,
                                                  int group, int steps) {
    int before = 0;
    for (int step = 0; step < steps; ++step, ring.next()) {
      const auto& tiles = ring.wait();
      const uint64_t a = describe_k_major(tiles.a + group * persistent::kGroupRows * kDepth);
      const uint64_t b = describe_k_major(tiles.b);
      multiply_begin();
#pragma unroll
      for (int p = 0; p < kDepth / 32; ++p) multiply_s8(sums, a + p * kNextK, b + p * kNextK, step + p > 0);
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

void run(const MatmulInt8::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  if (k == 0) return cuda::fill_zero(x.c, size_t(m * n) * sizeof(float));
  multiply_matrices_of_bytes<Job>(x.a, x.b, x.scale, x.c, m, n, k);
}

KLAB_VARIANT(MatmulInt8,
             {.run = run,
              .parent = "03_mma_sync",
              .tiles = {32, 128, 256},
              .expect = {.shape = {2048, 2048, 2048}, .over_parent = 10},
              .when = {{2048, 2048, 2048}, "compute capability 9.0, and tiles that only large matrices fill"},
              .supported = [](const MatmulInt8::Shape&, const Host& host) {
                return hopper::needs_hopper(host);
              }});

}  // namespace
}  // namespace klab
