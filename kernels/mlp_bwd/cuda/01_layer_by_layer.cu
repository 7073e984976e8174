// mlp_bwd.cuda.01_layer_by_layer: every quantity of every layer to memory and back.
//
// CHANGE    the definition: activations of all layers are computed and kept, then from the last layer to the
//           first a launch for the gradient of the weights (one warp per weight, lanes are samples) and one for
//           that of the inputs (one thread per channel of a sample).
// EXPECT    all requests of samples are 4 sectors. But a weight's gradient reads a row of D and a row of h
//           for itself: 8 bytes for each multiply-add, from L2 at best. Far from any peak.
// NUMERICS  float. A weight's sum is 32 chains of n/32 additions and a tree, in the same order every time.
// NEEDS     device memory for the activations of all hidden layers and two layers of gradients.
#include <algorithm>
#include <string>
#include <utility>

#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/mlp_bwd/mlp_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int64_t kMostUnits = 65535;  // blocks along y

/// h[r,i] = relu(sum over c of w[r,c]·before[c,i]) for unit r = blockIdx.y.
__global__ void __launch_bounds__(kThreads)
    hidden_layer(const float* __restrict__ w, const float* __restrict__ before, float* __restrict__ h,
                 int64_t from, int64_t n) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x, r = blockIdx.y;
  if (i >= n) return;
  float sum = 0;
  for (int64_t c = 0; c < from; ++c) sum += w[r * from + c] * before[c * n + i];
  h[r * n + i] = fmaxf(sum, 0);
}

/// d[r,i] = d_y[r,i]·s(z)(1 - s(z)) with z = sum over c of w[r,c]·h[c,i].
__global__ void __launch_bounds__(kThreads)
    through_logistic(const float* __restrict__ w, const float* __restrict__ h, const float* __restrict__ d_y,
                     float* __restrict__ d, int64_t from, int64_t n) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x, r = blockIdx.y;
  if (i >= n) return;
  float z = 0;
  for (int64_t c = 0; c < from; ++c) z += w[r * from + c] * h[c * n + i];
  d[r * n + i] = d_y[r * n + i] * (1 / (1 + expf(-z))) * (1 / (1 + expf(z)));
}

/// d_w[r,c] += sum over i of d[r,i]·h[c,i]: one warp per weight.
__global__ void __launch_bounds__(kThreads)
    weight_gradient(const float* __restrict__ d, const float* __restrict__ h, float* __restrict__ d_w,
                    int64_t from, int64_t to, int64_t n) {
  const int64_t e = int64_t(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (e >= from * to) return;
  const int lane = threadIdx.x % 32;
  const int64_t r = e / from, c = e % from;
  float sum = 0;
  for (int64_t i = lane; i < n; i += 32) sum += d[r * n + i] * h[c * n + i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(~0U, sum, step);
  if (lane == 0) d_w[e] += sum;
}

/// before[c,i] = sum over r of w[r,c]·d[r,i] for channel c = blockIdx.y; where `h` is given, 0 unless h[c,i]
/// > 0.
__global__ void __launch_bounds__(kThreads)
    input_gradient(const float* __restrict__ w, const float* __restrict__ d, const float* __restrict__ h,
                   float* __restrict__ before, int64_t from, int64_t to, int64_t n) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x, c = blockIdx.y;
  if (i >= n) return;
  float sum = 0;
  for (int64_t r = 0; r < to; ++r) sum += w[r * from + c] * d[r * n + i];
  before[c * n + i] = h == nullptr || h[c * n + i] > 0 ? sum : 0;
}

void run(const MlpBwd::Args<float>& x) {
  const MlpBwd::Shape& s = x.shape;
  if (s.n == 0) return;
  const dim3 block(kThreads);
  const auto grid = [&](int64_t channels) {
    return dim3(unsigned((s.n + kThreads - 1) / kThreads), unsigned(channels));
  };
  const size_t row = size_t(s.n) * sizeof(float), widest = size_t(std::max(s.width, s.out));
  cuda::Scratch kept(size_t(s.hidden * s.width) * row), one(widest * row), two(widest * row);
  const auto inputs_of = [&](int64_t l) {
    return l == 0 ? x.x : kept.as<const float>() + (l - 1) * s.width * s.n;
  };
  for (int64_t l = 0; l < s.hidden; ++l)
    cuda::launch(hidden_layer, grid(s.width), block, 0, x.weights + s.weight_begin(l), inputs_of(l),
                 kept.as<float>() + l * s.width * s.n, s.from(l), s.n);
  const float* d = x.d_y;
  float *free = one.as<float>(), *other = two.as<float>();
  if (s.logistic) {
    cuda::launch(through_logistic, grid(s.out), block, 0, x.weights + s.weight_begin(s.hidden),
                 inputs_of(s.hidden), x.d_y, free, s.width, s.n);
    d = free;
    std::swap(free, other);
  }
  for (int64_t l = s.hidden; l >= 0; --l) {
    const int64_t from = s.from(l), to = s.to(l), begin = s.weight_begin(l);
    cuda::launch(weight_gradient, dim3(unsigned((from * to + kWarps - 1) / kWarps)), block, 0, d,
                 inputs_of(l), x.d_weights + begin, from, to, s.n);
    float* before = l == 0 ? x.d_x : free;
    cuda::launch(input_gradient, grid(from), block, 0, x.weights + begin, d, l == 0 ? nullptr : inputs_of(l),
                 before, from, to, s.n);
    d = before;
    std::swap(free, other);
  }
}

std::string supported(const MlpBwd::Shape& s, const Host&) {
  if (std::max({s.in, s.width, s.out}) <= kMostUnits) return "";
  return "a layer of more than " + std::to_string(kMostUnits) + " units, one for each row of the grid";
}

KLAB_VARIANT(MlpBwd,
             {.run = run, .forward = "01_layer_by_layer", .tiles = {kThreads}, .supported = supported});

}  // namespace
}  // namespace klab
