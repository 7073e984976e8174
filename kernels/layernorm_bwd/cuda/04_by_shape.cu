// layernorm_bwd.cuda.04_by_shape: count blocks, of rows and of columns.
//
// CHANGE    rows that no warp keeps: as many blocks a row as the device needs to be full leave the two sums of their part, six
//           loads of 16 bytes a thread in flight. Then a block has 1,024 columns of some rows, as many rows as leave the device
//           full, and writes d_x and its columns' sums, with four rows in flight. Each of few short rows has a block.
// EXPECT    4 rows of 4 M features are 528 blocks, then 4,096, where there were four warps in one block: at least 200 times the
//           parent. Nothing for many rows of up to 1,024 features.
// NUMERICS  tree order along a row; down a column the rows of a block in order, then blocks in tree order.
// NEEDS     rows of a multiple of four features and arrays that begin at multiples of 16 bytes; others go by single features.
// SASS      LDG.128 STG.128; no LDL STL CALL.div_*64
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/rows/by_shape.h"
#include "kernels/common/rows/columns.h"
#include "kernels/common/rows/device.h"
#include "reference/layernorm_bwd/layernorm_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kRows = 4;  // rows that a thread has in flight
using Args = LayernormBwd::Args<float>;

#include "kernels/layernorm_bwd/cuda/04_by_shape-inl.h"

void run(const Args& x) {
  const bool fours = x.shape.c % 4 == 0 && rows::aligned(x.x, x.gamma, x.d_y, x.d_x, x.d_gamma, x.d_beta);
  fours ? run_by<4>(x) : run_by<1>(x);
}

KLAB_VARIANT(LayernormBwd, {.run = run,
                            .parent = "03_warp_keeps",
                            .forward = "05_by_shape",
                            .tiles = {8, 12, 128, 256, 512, 1024, rows::kGridColumns},
                            .expect = {.shape = {4, 1 << 22}, .over_parent = 200}});

}  // namespace
}  // namespace klab
