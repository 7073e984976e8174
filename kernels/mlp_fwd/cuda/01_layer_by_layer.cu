// mlp_fwd.cuda.01_layer_by_layer: one thread per unit of a sample, one launch per layer.
//
// CHANGE    the definition, layer by layer, as a library would be called: activations go to global memory and
//           come back.
// EXPECT    lanes are samples: 32 neighbors of a row of activations, 4 sectors/request, and one weight for
//           all. But a block has one unit, so that `to` blocks read the same activations, one load of each
//           kind for each multiply-add: far from the peak, and 8·width bytes per sample for each hidden layer
//           besides.
// NUMERICS  float; one chain of additions a unit.
// NEEDS     device memory for two layers of activations.
#include <string>
#include <utility>

#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/mlp_fwd/mlp_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kMostUnits = 65535;  // blocks along y

enum class After { nothing, relu, logistic };

/// out[r,i] = after(sum over c of w[r,c]·h[c,i]) for unit r = blockIdx.y.
__global__ void __launch_bounds__(kThreads)
    layer(const float* __restrict__ w, const float* __restrict__ h, float* __restrict__ out, int64_t from,
          int64_t n, After after) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x, r = blockIdx.y;
  if (i >= n) return;
  float sum = 0;
  for (int64_t c = 0; c < from; ++c) sum += w[r * from + c] * h[c * n + i];
  if (after == After::relu) sum = fmaxf(sum, 0);
  if (after == After::logistic) sum = 1 / (1 + expf(-sum));
  out[r * n + i] = sum;
}

void run(const MlpFwd::Args<float>& x) {
  const MlpFwd::Shape& s = x.shape;
  if (s.n == 0) return;
  cuda::Scratch first(size_t(s.width * s.n) * sizeof(float)), second(size_t(s.width * s.n) * sizeof(float));
  float *h = first.as<float>(), *next = second.as<float>();
  const float* from = x.x;
  for (int64_t l = 0; l < s.layers(); ++l) {
    const bool last = l == s.hidden;
    const After after = !last ? After::relu : s.logistic ? After::logistic : After::nothing;
    cuda::launch(layer, dim3(unsigned((s.n + kThreads - 1) / kThreads), unsigned(s.to(l))), dim3(kThreads), 0,
                 x.weights + s.weight_begin(l), from, last ? x.y : h, s.from(l), s.n, after);
    from = h;
    std::swap(h, next);
  }
}

std::string supported(const MlpFwd::Shape& s, const Host&) {
  if (s.width <= kMostUnits && s.out <= kMostUnits) return "";
  return "a layer of more than " + std::to_string(kMostUnits) + " units, one for each row of the grid";
}

KLAB_VARIANT(MlpFwd, {.run = run, .tiles = {kThreads}, .supported = supported});

}  // namespace
}  // namespace klab
