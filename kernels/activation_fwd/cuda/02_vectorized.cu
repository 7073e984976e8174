// activation_fwd.cuda.02_vectorized: sixteen bytes per lane.
//
// CHANGE    a thread loads and stores four neighbors at once, and the function is a template parameter of the
//           kernel.
// EXPECT    a quarter of the requests, no branch for each element, and four independent functions per thread:
//           at least 1.2 times.
// NUMERICS  as the parent.
// NEEDS     arrays that begin at multiples of 16 bytes; others, and the last three elements, go singly.
// SASS      LDG.128 STG.128; no LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/activation_fwd/activation_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

#include "kernels/activation_fwd/cuda/01_one_each-inl.h"

template <int64_t kind>
__global__ void __launch_bounds__(kThreads) apply(ActivationFwd::Args<float> a, bool fours) {
  const int64_t i = 4 * (int64_t(blockIdx.x) * kThreads + threadIdx.x), n = a.shape.n;
  if (fours && i + 4 <= n) {
    const float4 x = *reinterpret_cast<const float4*>(a.x + i);
    *reinterpret_cast<float4*>(a.y + i) =
        make_float4(value(kind, x.x), value(kind, x.y), value(kind, x.z), value(kind, x.w));
    return;
  }
  for (int64_t k = i; k < i + 4 && k < n; ++k) a.y[k] = value(kind, a.x[k]);
}

void run(const ActivationFwd::Args<float>& x) {
  constexpr void (*kernels[])(ActivationFwd::Args<float>, bool) = {apply<0>, apply<1>, apply<2>,
                                                                   apply<3>, apply<4>, apply<5>};
  const int64_t threads = (x.shape.n + 3) / 4;
  if (threads == 0) return;
  cuda::launch(kernels[x.shape.kind], unsigned((threads + kThreads - 1) / kThreads), kThreads, 0, x,
               cuda::aligned(x.x) && cuda::aligned(x.y));
}

KLAB_VARIANT(ActivationFwd, {.run = run,
                             .parent = "01_one_each",
                             .tiles = {4, 4 * kThreads},
                             .expect = {.shape = {1 << 23, activation::gelu}, .over_parent = 1.2}});

}  // namespace
}  // namespace klab
