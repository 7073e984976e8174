// matmul_int8_tn.cuda.02_persistent: nothing is turned, and the tensor cores are fed as fast as they multiply.
//
// CHANGE    the pipeline of matmul_int8.cuda.04_turned_once without its first launch: TMA fetches tiles of 128 x 128 and 256 x 128
//           bytes as both factors lie, and each of two groups has 64 x 256 sums of 32 bits in registers.
// EXPECT    the product alone of that rung: at 2048 cubed 9 us of wgmma, and C is stored in 4.
// NUMERICS  exact sums in 32 bits; a conversion and a product.
// NEEDS     compute capability 9.0, and only that one. 226 KB of shared memory.
// SASS      IGMMA.64x256x32 UTMALDG UTMASTG USETMAXREG; no LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/matmul/hopper_bytes.h"
#include "reference/matmul_int8_tn/matmul_int8_tn.h"

namespace klab {
namespace {

using namespace hopper;

#include "kernels/common/matmul/04_turned_once-inl.h"

void run(const MatmulInt8Tn::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  if (k == 0) return cuda::fill_zero(x.c, size_t(m * n) * sizeof(float));
  multiply_matrices_along_k<Job>(x.a, x.b, x.scale, x.c, m, n, k);
}

KLAB_VARIANT(MatmulInt8Tn, {.run = run,
                            .parent = "01_naive",
                            .tiles = {32, 128, 256},
                            .expect = {.shape = {2048, 2048, 2048}, .over_parent = 100},
                            .supported = [](const MatmulInt8Tn::Shape&, const Host& host) {
                              return hopper::needs_hopper(host);
                            }});

}  // namespace
}  // namespace klab
