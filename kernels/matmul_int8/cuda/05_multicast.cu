// matmul_int8.cuda.05_multicast: two multiprocessors share tiles of B.
//
// CHANGE    blocks in clusters of two, one under the other: each fetches its tile of A and half of the tile of B that both need,
//           and TMA delivers that half to both, as in matmul_bf16.cuda.06_multicast.
// EXPECT    a step has as many cycles as one of bf16, 1024, and fetches as many bytes, 48 KB, now 32. So at least the 1.02 times the
//           parent that are expected there.
// NUMERICS  as the parent.
// NEEDS     as the parent.
#include <stdexcept>

#include "harness/core/registrar.h"
#include "kernels/matmul_int8/cuda/04_turned_once-inl.h"
#include "reference/matmul_int8/matmul_int8.h"

namespace klab {
namespace {

#if KLAB_SIMT

void run(const MatmulInt8::Args<float>&) { throw std::logic_error("wgmma and TMA run on a GPU only"); }

#else

void run(const MatmulInt8::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  if (k == 0) return cuda::fill_zero(x.c, size_t(m * n) * sizeof(float));
  hopper::multiply_matrices_of_bytes<Int8Job<2> >(x.a, x.b, x.scale, x.c, m, n, k);
}

#endif

KLAB_VARIANT(MatmulInt8,
             {.run = run,
              .parent = "04_turned_once",
              .tiles = {32, 128, 256},
              .expect = {.shape = {2048, 2048, 2048}, .over_parent = 1.02},
              .when = {{2048, 2048, 2048}, "compute capability 9.0, and tiles that only large matrices fill"},
              .supported = [](const MatmulInt8::Shape&, const Host& host) {
                return hopper::needs_hopper(host);
              }});

}  // namespace
}  // namespace klab
