// softmax_xent_bwd.cpu.03_simd: vectors, with the exponential as a polynomial.
//
// CHANGE    the three loops in vectors; the exponential of the forward's 03_simd.
// EXPECT    about ten times the parent; rows of ten classes less, as in the forward.
// NUMERICS  exponential within 1.7 ulp; differences beyond -87 count as -87, so a probability never falls
//           below 1.7e-38/c.
#include <cmath>
#include <limits>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/softmax_xent_bwd/softmax_xent_bwd.h"

#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/softmax_xent_bwd/cpu/03_simd-inl.h"

void gradients(const SoftmaxXentBwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  for (int64_t i = 0; i < n; ++i) {
    const float *row = x.logits + i * c, g = x.d_loss[i];
    float* d = x.d_logits + i * c;
    const int64_t label = x.labels[i];
    const float largest = largest_of(row, c), sum = exponentials(row, d, c, largest);
    x.loss[i] = std::log(sum) + (largest - row[label]);
    multiply(d, c, g / sum);
    d[label] -= g;
  }
}

KLAB_SIMD_ONCE(gradients);

#if HWY_ONCE
void run(const SoftmaxXentBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(gradients)(x); }

KLAB_VARIANT(SoftmaxXentBwd, {.run = run,
                              .parent = "02_keep_exponentials",
                              .forward = "03_simd",
                              .tiles = {16, 64},
                              .expect = {.shape = {4096, 1000}, .over_parent = 4}});
KLAB_SIMD_CLOSE();
#endif
