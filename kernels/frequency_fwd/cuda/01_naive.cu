// frequency_fwd.cuda.01_naive: a thread a position and octave.
//
// CHANGE    the naive loops spread over threads: each takes one coordinate of one position at one octave.
// EXPECT    coalesced; each position is read once an octave, its sine and its cosine reduce the same argument for
//           themselves.
// NUMERICS  2^k·x modulo 2 is exact; then the library's sine and cosine of pi times it.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/frequency_fwd/frequency_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    encode(int64_t n, int64_t dim, int octaves, const float* __restrict__ positions,
           float* __restrict__ features) {
  const int64_t at = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= n * dim * octaves) return;
  const int64_t i = at % n, row = at / n;  // row = coordinate·octaves + octave
  const float x = ldexpf(positions[row / octaves * n + i], int(row % octaves));
  const float turn = x - 2 * rintf(0.5F * x);
  features[2 * row * n + i] = sinf(3.14159265358979F * turn);
  features[(2 * row + 1) * n + i] = cosf(3.14159265358979F * turn);
}

void run(const FrequencyFwd::Args<float>& x) {
  const auto [n, dim, octaves] = x.shape;
  if (n == 0) return;
  const int64_t blocks = (n * dim * octaves + kThreads - 1) / kThreads;
  cuda::launch(encode, dim3(unsigned(blocks)), dim3(kThreads), 0, n, dim, int(octaves), x.positions,
               x.features);
}

KLAB_VARIANT(FrequencyFwd, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
