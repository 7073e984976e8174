// mlp_int8_fwd.cuda.01_layer_by_layer: one thread per sample that rounds it, then one per unit of a sample; two launches a layer.
//
// CHANGE    the definition, layer by layer: the largest number of a sample is known only behind the whole layer before, so rounding is
//           a launch of its own. Bytes of samples and sums go to global memory.
// EXPECT    a warp's lanes are samples, which share each weight, and a sample's inputs are a byte in place of four: the reads of a
//           layer's inputs fall to a quarter. A multiplication of integers takes a lane as long as one of floats.
// NUMERICS  exact sums in 32 bits; a conversion and three products with scales.
// NEEDS     device memory for a layer of sums, its bytes and the samples' scales.
#include <string>

#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/mlp_int8_fwd/mlp_int8_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kMostUnits = 65535;  // blocks along y

enum class After { nothing, relu, logistic };

/// q[c,i] and scale[i] of sample i from its inputs h[c,i].
__global__ void __launch_bounds__(kThreads)
    round_samples(const float* __restrict__ h, int8_t* __restrict__ q, float* __restrict__ scale,
                  int64_t from, int64_t n) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  float largest = 0;
  for (int64_t c = 0; c < from; ++c) largest = fmaxf(largest, fabsf(h[c * n + i]));
  const bool none = !(largest > MlpInt8Fwd::kLeast);
  const float by = none ? 0 : 127 / largest;
  scale[i] = none ? 0 : largest / 127;
  for (int64_t c = 0; c < from; ++c) q[c * n + i] = int8_t(__float2int_rn(h[c * n + i] * by));
}

/// out[r,i] = after(sum over c of bytes[r,c]·q[c,i], times both scales) for unit r = blockIdx.y.
__global__ void __launch_bounds__(kThreads)
    layer(const int8_t* __restrict__ bytes, const float* __restrict__ factors, const int8_t* __restrict__ q,
          const float* __restrict__ scale, float* __restrict__ out, int64_t from, int64_t n, After after) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x, r = blockIdx.y;
  if (i >= n) return;
  int32_t sum = 0;
  for (int64_t c = 0; c < from; ++c) sum += int32_t(bytes[r * from + c]) * int32_t(q[c * n + i]);
  float v = float(sum) * (scale[i] * factors[r]);
  if (after == After::relu) v = fmaxf(v, 0);
  if (after == After::logistic) v = 1 / (1 + expf(-v));
  out[r * n + i] = v;
}

void run(const MlpInt8Fwd::Args<float>& x) {
  const MlpFwd::Shape& s = x.shape;
  if (s.n == 0) return;
  const int64_t widest = s.in > s.width ? s.in : s.width;
  cuda::Scratch sums(size_t(s.width * s.n) * sizeof(float)), bytes(size_t(widest * s.n)),
      scales(size_t(s.n) * sizeof(float));
  const auto blocks = unsigned((s.n + kThreads - 1) / kThreads);
  const float* h = x.x;
  for (int64_t l = 0; l < s.layers(); ++l) {
    const bool last = l == s.hidden;
    const After after = !last ? After::relu : s.logistic ? After::logistic : After::nothing;
    cuda::launch(round_samples, dim3(blocks), dim3(kThreads), 0, h, bytes.as<int8_t>(), scales.as<float>(),
                 s.from(l), s.n);
    cuda::launch(layer, dim3(blocks, unsigned(s.to(l))), dim3(kThreads), 0, x.bytes + s.weight_begin(l),
                 x.factors + l * s.width, bytes.as<int8_t>(), scales.as<float>(),
                 last ? x.y : sums.as<float>(), s.from(l), s.n, after);
    h = sums.as<float>();
  }
}

std::string supported(const MlpInt8Fwd::Shape& s, const Host&) {
  if (s.width <= kMostUnits && s.out <= kMostUnits) return "";
  return "a layer of more than " + std::to_string(kMostUnits) + " units, one for each row of the grid";
}

KLAB_VARIANT(MlpInt8Fwd, {.run = run, .tiles = {kThreads}, .supported = supported});

}  // namespace
}  // namespace klab
