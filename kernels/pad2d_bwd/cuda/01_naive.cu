// pad2d_bwd.cuda.01_naive: a thread for each pixel asks the places that show it.
//
// CHANGE    nothing is sent, so no atomics: a thread lists the positions that show its row and its column, one to three or, where
//           the edge is repeated, up to pad + 1, and adds up their gradients. A mean takes a launch of its own, in which a thread
//           adds up a border.
// EXPECT    one load for a pixel far from the edge, 4 to 5 sectors/request, and three divisions of 64-bit numbers. The mean's threads
//           walk over whole pictures: a sector for each number, and few threads.
// NUMERICS  a pixel's own gradient first; float sums.
// NEEDS     4 bytes a picture for the mean.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/pad/copies.h"
#include "reference/pad2d_bwd/pad2d_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

/// Leaves for each picture what a pixel gets of its border.
__global__ void __launch_bounds__(kThreads)
    shares_of(PadShape s, const float* __restrict__ d_y, float* __restrict__ shares) {
  const int64_t plane = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (plane >= s.planes) return;
  const float* from = d_y + plane * s.oh() * s.ow();
  float sum = 0;
  for (int64_t i = 0; i < s.oh(); ++i)
    for (int64_t j = 0; j < s.ow(); ++j)
      if (!s.inside(i - s.pad_y, j - s.pad_x)) sum += from[i * s.ow() + j];
  shares[plane] = sum / float(s.h * s.w);
}

__global__ void __launch_bounds__(kThreads)
    collect(PadShape s, const float* __restrict__ d_y, const float* __restrict__ shares,
            float* __restrict__ d_x, int64_t total) {
  const int64_t at = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= total) return;
  const int64_t column = at % s.w, row = at / s.w % s.h, plane = at / (s.w * s.h);
  const float* from = d_y + plane * s.oh() * s.ow();
  const PadCopies of_row = pad_copies(s, row, s.h, s.pad_y), of_column = pad_copies(s, column, s.w, s.pad_x);
  float sum = 0;
  each_pad_copy(of_row, row, [&](int64_t i) {
    each_pad_copy(of_column, column, [&](int64_t j) { sum += from[(i + s.pad_y) * s.ow() + j + s.pad_x]; });
  });
  d_x[at] = s.kind == PadShape::mean ? sum + shares[plane] : sum;
}

void run(const Pad2dBwd::Args<float>& x) {
  const PadShape& s = x.shape;
  if (s.planes == 0) return;
  const auto blocks = [](int64_t threads) { return unsigned((threads + kThreads - 1) / kThreads); };
  const cuda::Scratch scratch(s.kind == PadShape::mean ? size_t(s.planes) * sizeof(float) : 0);
  auto* shares = scratch.as<float>();
  if (s.kind == PadShape::mean) cuda::launch(shares_of, blocks(s.planes), kThreads, 0, s, x.d_y, shares);
  const int64_t total = s.planes * s.h * s.w;
  cuda::launch(collect, blocks(total), kThreads, 0, s, x.d_y, shares, x.d_x, total);
}

KLAB_VARIANT(Pad2dBwd, {.run = run, .tiles = {32}});

}  // namespace
}  // namespace klab
