// mlp_narrow_fwd.cuda.01_layer_by_layer: one thread per unit of a sample, one launch per layer.
//
// CHANGE    the definition, layer by layer: activations go to global memory and come back; a weight is widened as it is
//           multiplied, and a row's factor multiplies its sum.
// EXPECT    as mlp_fwd's first rung: a warp's lanes are samples, which share each weight, so its bytes were never what took time.
// NUMERICS  float; one chain of additions a unit.
// NEEDS     device memory for two layers of activations.
#include <cstring>
#include <string>
#include <utility>

#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/mlp_narrow_fwd/mlp_narrow_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kMostUnits = 65535;  // blocks along y

enum class After { nothing, relu, logistic };

/// One layer's weights: in 16 bits, or bytes and a factor for each row.
struct Layer {
  const uint16_t* halves;
  const int8_t* bytes;
  const float* factors;
};

/// Number i of the layer.
template <int64_t kFormat>
__device__ __forceinline__ float weight_of(const Layer& w, int64_t i) {
  if constexpr (kFormat == narrow_format::int8) return float(w.bytes[i]);
  if constexpr (kFormat == narrow_format::bf16) return __uint_as_float(uint32_t(w.halves[i]) << 16);
  __half half;
  memcpy(static_cast<void*>(&half), w.halves + i, sizeof(half));
  return __half2float(half);
}

/// out[r,i] = after(sum over c of w[r,c]·h[c,i]) for unit r = blockIdx.y.
template <int64_t kFormat>
__global__ void __launch_bounds__(kThreads)
    layer(Layer w, const float* __restrict__ h, float* __restrict__ out, int64_t from, int64_t n,
          After after) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x, r = blockIdx.y;
  if (i >= n) return;
  float sum = 0;
  for (int64_t c = 0; c < from; ++c) sum += weight_of<kFormat>(w, r * from + c) * h[c * n + i];
  if constexpr (kFormat == narrow_format::int8) sum *= w.factors[r];
  if (after == After::relu) sum = fmaxf(sum, 0);
  if (after == After::logistic) sum = 1 / (1 + expf(-sum));
  out[r * n + i] = sum;
}

template <int64_t kFormat>
void network(const MlpNarrowFwd::Args<float>& x) {
  const MlpFwd::Shape s = x.shape.network();
  cuda::Scratch first(size_t(s.width * s.n) * sizeof(float)), second(size_t(s.width * s.n) * sizeof(float));
  float *h = first.as<float>(), *next = second.as<float>();
  const float* from = x.x;
  for (int64_t l = 0; l < s.layers(); ++l) {
    const bool last = l == s.hidden;
    const After after = !last ? After::relu : s.logistic ? After::logistic : After::nothing;
    const int64_t at = s.weight_begin(l);
    const Layer w = kFormat == narrow_format::int8 ? Layer{nullptr, x.bytes + at, x.factors + l * s.width}
                                                   : Layer{x.halves + at, nullptr, nullptr};
    cuda::launch(layer<kFormat>, dim3(unsigned((s.n + kThreads - 1) / kThreads), unsigned(s.to(l))),
                 dim3(kThreads), 0, w, from, last ? x.y : h, s.from(l), s.n, after);
    from = h;
    std::swap(h, next);
  }
}

void run(const MlpNarrowFwd::Args<float>& x) {
  if (x.shape.n == 0) return;
  if (x.shape.format == narrow_format::f16) return network<narrow_format::f16>(x);
  if (x.shape.format == narrow_format::bf16) return network<narrow_format::bf16>(x);
  network<narrow_format::int8>(x);
}

std::string supported(const MlpNarrowFwd::Shape& s, const Host&) {
  if (s.width <= kMostUnits && s.out <= kMostUnits) return "";
  return "a layer of more than " + std::to_string(kMostUnits) + " units, one for each row of the grid";
}

KLAB_VARIANT(MlpNarrowFwd, {.run = run, .tiles = {kThreads}, .supported = supported});

}  // namespace
}  // namespace klab
