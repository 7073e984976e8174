// matmul_bf16.cuda.05_persistent: one block a multiprocessor, which fetches the next tile while it stores the last.
//
// CHANGE    tiles of C are 128 x 256, and a block takes one after the other. The fetching group gives its registers to the two
//           that multiply, 64 x 256 sums each, 128 a thread. A wgmma is waited for when the next one has been started. Sums
//           leave through shared memory by TMA, whole rows of 128 bytes, and the fetching thread does not wait for them.
//           Blocks that run at a time have neighboring tiles, as near a square of C as the grid allows.
// EXPECT    a tile's bytes a product fall by a quarter, 201 MB from L2 at 2048 cubed where the parent has 268, and there
//           128 tiles are one round of 132 multiprocessors: at least 1.4 times the parent.
// NUMERICS  as the parent.
// NEEDS     as the parent; 226 KB of shared memory.
// SASS      HGMMA.64x256x16.BF16 UTMALDG UTMASTG USETMAXREG; no LDSM LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/matmul/aligned_rows.h"
#include "kernels/common/matmul/hopper_bf16.h"
#include "reference/matmul_bf16/matmul_bf16.h"

namespace klab {
namespace {

void run(const MatmulBf16::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  if (k == 0) return cuda::fill_zero(x.c, size_t(m * n) * sizeof(float));
  const AlignedRows<__nv_bfloat16> a(x.a, m, k), b(x.b, k, n);
  hopper::bf16::multiply_matrices(a.data(), a.stride(), b.data(), b.stride(), x.c, m, n, k);
}

KLAB_VARIANT(MatmulBf16,
             {.run = run,
              .parent = "04_wgmma_tma",
              .tiles = {hopper::bf16::kDepth, hopper::persistent::kRows, hopper::bf16::kColumns},
              .expect = {.shape = {2048, 2048, 2048}, .over_parent = 1.4},
              .when = {{2048, 2048, 2048}, "compute capability 9.0, and tiles that only large matrices fill"},
              .supported = [](const MatmulBf16::Shape&, const Host& host) {
                return hopper::needs_hopper(host);
              }});

}  // namespace
}  // namespace klab
