// matmul_fp8.cuda.04_multicast: two multiprocessors share tiles of B.
//
// CHANGE    blocks in clusters of two, one under the other: each fetches its tile of A and half of the tile of B that both need,
//           and TMA delivers that half to both, as in matmul_bf16.cuda.06_multicast.
// EXPECT    a step of 512 cycles fetches 32 KB a block, 64 bytes a cycle, as much as a multiprocessor can take from L2. Now it
//           fetches 24 KB: at least 1.05 times the parent at 2048 cubed.
// NUMERICS  as the parent.
// NEEDS     as the parent.
#include <stdexcept>

#include "harness/core/registrar.h"
#include "kernels/matmul_fp8/cuda/03_turned_once-inl.h"
#include "reference/matmul_fp8/matmul_fp8.h"

namespace klab {
namespace {

#if KLAB_SIMT

void run(const MatmulFp8::Args<float>&) { throw std::logic_error("wgmma and TMA run on a GPU only"); }

#else

void run(const MatmulFp8::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  if (k == 0) return cuda::fill_zero(x.c, size_t(m * n) * sizeof(float));
  hopper::multiply_matrices_of_bytes<Fp8Job<2> >(x.a, x.b, x.scale, x.c, m, n, k);
}

#endif

KLAB_VARIANT(MatmulFp8,
             {.run = run,
              .parent = "03_turned_once",
              .numerics = {.unit = Unit::f16},
              .tiles = {32, 128},
              .expect = {.shape = {2048, 2048, 2048}, .over_parent = 1.05},
              .when = {{2048, 2048, 2048}, "compute capability 9.0, and tiles that only large matrices fill"},
              .supported = [](const MatmulFp8::Shape&, const Host& host) {
                return hopper::needs_hopper(host);
              }});

}  // namespace
}  // namespace klab
