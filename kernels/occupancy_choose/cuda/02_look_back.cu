// occupancy_choose.cuda.02_look_back: choose once, and write at once.
//
// CHANGE   one kernel in place of three: a block that has chosen finds its place in the words of earlier blocks
//          (kernels/common/look_back.h). A cell that is not chosen writes a -1: the k-th of these the k-th place from the end, which
//          needs no sum of all.
// EXPECT   the generator runs once, bits and values are read once, and the 128 additions of one thread are gone: less
//          than the parent's time, if not by much: a fill and a launch are most of what is left.
// NEEDS    8 bytes a tile of 1,024 cells.
// SASS      ATOMG.ADD LDG.64.STRONG STG.64.STRONG; no LDL STL CALL.div_*64
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/look_back.h"
#include "kernels/common/philox.h"
#include "reference/occupancy_choose/occupancy_choose.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kCells = 4 * kThreads;

#include "kernels/occupancy_choose/cuda/01_three_passes-inl.h"

__global__ void __launch_bounds__(kThreads)
    choose(OccupancyChoose::Args<float> x, cuda::LookBack back, unsigned tiles) {
  __shared__ unsigned of_warps[kThreads / 32];
  const auto add = [](unsigned a, unsigned b) { return a + b; };
  const unsigned tile = back.take_tile();
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  const int64_t c = int64_t(tile) * kCells + 4 * threadIdx.x;
  const unsigned chosen = chosen_of(x, limits_of(x), c), own = unsigned(__popc(chosen));
  const unsigned sum = cuda::scan_warp(own, add);
  if (lane == 31) of_warps[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    const unsigned up_to = cuda::scan_warp(lane < kThreads / 32 ? of_warps[lane] : 0, add);
    const unsigned all = __shfl_sync(~0U, up_to, 31), before = back.sum_before(tile, all, add);
    const unsigned lower = __shfl_up_sync(~0U, up_to, 1);
    if (lane < kThreads / 32) of_warps[lane] = before + (lane == 0 ? 0 : lower);
    if (lane == 0 && tile == tiles - 1) *x.count = int32_t(before + all);
  }
  __syncthreads();
  int64_t at = of_warps[warp] + sum - own;
  for (int k = 0; k < 4 && c + k < x.shape.cells; ++k) {
    if ((chosen >> k & 1) != 0)
      x.chosen[at++] = int32_t(c + k);
    else
      x.chosen[x.shape.cells - 1 - (c + k - at)] = -1;
  }
}

void run(const OccupancyChoose::Args<float>& x) {
  if (x.shape.cells == 0) {
    cuda::fill_zero(x.count, sizeof(int32_t));
    return;
  }
  const auto tiles = unsigned((x.shape.cells + kCells - 1) / kCells);
  const cuda::Scratch scratch(cuda::LookBack::bytes(tiles));
  const cuda::LookBack back{scratch.as<unsigned long long>()};
  cuda::fill_zero(back.memory, cuda::LookBack::bytes(tiles));
  cuda::launch(choose, dim3(tiles), dim3(kThreads), 0, x, back, tiles);
}

KLAB_VARIANT(OccupancyChoose, {.run = run,
                               .parent = "01_three_passes",
                               .tiles = {kCells},
                               .expect = {.shape = {1 << 17, 0, 1 << 21, 0}, .over_parent = 1.1}});

}  // namespace
}  // namespace klab
