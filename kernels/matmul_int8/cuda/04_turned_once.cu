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

#include "kernels/common/matmul/04_turned_once-inl.h"

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
