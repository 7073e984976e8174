// pad2d_fwd.cuda.01_naive: a thread for each place of the padded picture.
//
// CHANGE    the definition. A mean takes a launch of its own, in which a thread adds up a picture.
// EXPECT    reads of the middle are 4 sectors/request, and up to 5 where a row begins off a sector; three divisions of 64-bit
//           numbers for each place. The mean's threads read h·w floats apart: a sector for each number, and few threads.
// NUMERICS  copies are exact; a mean is a float sum along rows, then a division.
// NEEDS     4 bytes a picture for the mean.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/pad2d_fwd/pad2d_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    means_of(int64_t planes, int64_t pixels, const float* __restrict__ x, float* __restrict__ means) {
  const int64_t plane = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (plane >= planes) return;
  float sum = 0;
  for (int64_t k = 0; k < pixels; ++k) sum += x[plane * pixels + k];
  means[plane] = sum / float(pixels);
}

__global__ void __launch_bounds__(kThreads)
    pad(PadShape s, const float* __restrict__ x, const float* __restrict__ means, float* __restrict__ y,
        int64_t total) {
  const int64_t at = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= total) return;
  const int64_t row = at / s.ow() % s.oh() - s.pad_y, column = at % s.ow() - s.pad_x;
  const int64_t plane = at / (s.ow() * s.oh());
  if (s.inside(row, column) || s.copies())
    y[at] = x[(plane * s.h + s.source(row, s.h)) * s.w + s.source(column, s.w)];
  else
    y[at] = s.kind == PadShape::mean ? means[plane] : 0;
}

void run(const Pad2dFwd::Args<float>& x) {
  const PadShape& s = x.shape;
  if (s.planes == 0) return;
  const auto blocks = [](int64_t threads) { return unsigned((threads + kThreads - 1) / kThreads); };
  const cuda::Scratch scratch(s.kind == PadShape::mean ? size_t(s.planes) * sizeof(float) : 0);
  auto* means = scratch.as<float>();
  if (s.kind == PadShape::mean)
    cuda::launch(means_of, blocks(s.planes), kThreads, 0, s.planes, s.h * s.w, x.x, means);
  const int64_t total = s.planes * s.oh() * s.ow();
  cuda::launch(pad, blocks(total), kThreads, 0, s, x.x, means, x.y, total);
}

KLAB_VARIANT(Pad2dFwd, {.run = run, .tiles = {32}});

}  // namespace
}  // namespace klab
