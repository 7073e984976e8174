// pool_fwd.cuda.01_naive: a thread for each output.
//
// CHANGE    the definition. Neighboring threads take outputs that are neighbors in memory, whatever the layout.
// EXPECT    r·s loads for each output. NCHW with a stride of 2: lanes read every second float of a row, and the next column of
//           the window reads the others from the same sectors.
// NUMERICS  a maximum is exact; an average sums in float along rows, then divides.
// NEEDS     nothing; both layouts. A border: device memory for a copy of the pictures with it.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/pad/layers_cuda.h"
#include "reference/pool_fwd/pool_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    outputs(PoolShape s, const float* __restrict__ x, float* __restrict__ y, int64_t total) {
  const int64_t at = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= total) return;
  const int64_t oh = s.oh(), ow = s.ow();
  const int64_t channel = s.nhwc != 0 ? at % s.c : at / (oh * ow) % s.c;
  const int64_t pixel = s.nhwc != 0 ? at / s.c % (oh * ow) : at % (oh * ow), image = at / (oh * ow * s.c);
  const PoolShape::Range rows = s.rows(pixel / ow), columns = s.columns(pixel % ow);
  float largest = x[s.x_at(image, channel, rows.begin, columns.begin)], sum = 0;
  for (int64_t p = rows.begin; p < rows.end; ++p)
    for (int64_t q = columns.begin; q < columns.end; ++q) {
      const float value = x[s.x_at(image, channel, p, q)];
      largest = value > largest ? value : largest;
      sum += value;
    }
  y[at] = s.is_max() ? largest : sum / float(s.divisor(rows, columns));
}

void run(const PoolFwd::Args<float>& x) {
  const PoolShape& s = x.shape;
  if (s.border != 0) return pad::forward(x, s.c, run);
  const int64_t total = s.n * s.c * s.oh() * s.ow();
  if (total == 0) return;
  cuda::launch(outputs, dim3(unsigned((total + kThreads - 1) / kThreads)), dim3(kThreads), 0, s, x.x, x.y,
               total);
}

KLAB_VARIANT(PoolFwd, {.run = run, .tiles = {32}, .needs = {"border"}});

}  // namespace
}  // namespace klab
