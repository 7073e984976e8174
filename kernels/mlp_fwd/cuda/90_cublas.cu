// mlp_fwd.cuda.90_cublas: cuBLAS, layer by layer.
//
// CHANGE    the library's matrix product for each layer, and a kernel for the activation after it.
// EXPECT    the multiplications near the peak of float, but every layer's activations go to memory twice and
//           come back twice: a network 64 wide is bound by that.
// NUMERICS  float, fused multiply-add.
// NEEDS     a GPU with its driver and libcublas; device memory for two layers of activations.
#include <utility>

#include "harness/core/registrar.h"
#include "kernels/common/vendor/cublas.h"
#include "reference/mlp_fwd/mlp_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) relu(float* __restrict__ h, int64_t count) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < count) h[i] = fmaxf(h[i], 0);
}

__global__ void __launch_bounds__(kThreads) logistic(float* __restrict__ y, int64_t count) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < count) y[i] = 1 / (1 + expf(-y[i]));
}

void run(const MlpFwd::Args<float>& x) {
  const MlpFwd::Shape& s = x.shape;
  if (s.n == 0) return;
  cuda::Scratch first(size_t(s.width * s.n) * sizeof(float)), second(size_t(s.width * s.n) * sizeof(float));
  float *h = first.as<float>(), *next = second.as<float>();
  const float* from = x.x;
  for (int64_t l = 0; l < s.layers(); ++l) {
    const bool last = l == s.hidden;
    float* const to = last ? x.y : h;
    cublas::multiply(cublas::How::plain, s.to(l), s.n, s.from(l), x.weights + s.weight_begin(l), from, to);
    const int64_t count = s.to(l) * s.n;
    const unsigned blocks = unsigned((count + kThreads - 1) / kThreads);
    if (!last)
      cuda::launch(relu, blocks, kThreads, 0, to, count);
    else if (s.logistic)
      cuda::launch(logistic, blocks, kThreads, 0, to, count);
    from = h;
    std::swap(h, next);
  }
}

KLAB_VARIANT(MlpFwd, {.run = run, .peer = true, .supported = [](const MlpFwd::Shape&, const Host& host) {
                        return cublas::supported(host);
                      }});

}  // namespace
}  // namespace klab
