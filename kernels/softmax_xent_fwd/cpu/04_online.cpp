// softmax_xent_fwd.cpu.04_online: maximum and sum in one pass.
//
// CHANGE    the sum begins before the maximum is known. Each lane keeps the largest logit it has met and its
//           sum relative to that; when the maximum grows, the sum is scaled by exp(old - new).
// EXPECT    a row is read once. In a cache that holds a row the second reading was nearly free: up to 1.2
//           times there. Only rows beyond the last cache are read from memory once instead of twice.
// NUMERICS  a factor for each growth of the maximum, one lane at a time; their arguments add up to no more
//           than the argument of one exponential taken at the end.
// TRIED     scaling at every step, without the branch: a second exponential for every four.
#include <cmath>
#include <limits>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/softmax_xent_fwd/softmax_xent_fwd.h"

#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/softmax_xent_fwd/cpu/04_online-inl.h"

void losses(const SoftmaxXentFwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  for (int64_t i = 0; i < n; ++i) {
    const float* row = x.logits + i * c;
    const Reduced r = reduce(row, c);
    x.loss[i] = std::log(r.sum) + (r.largest - row[x.labels[i]]);
  }
}

KLAB_SIMD_ONCE(losses);

#if HWY_ONCE
void run(const SoftmaxXentFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(losses)(x); }

KLAB_VARIANT(SoftmaxXentFwd, {.run = run,
                              .parent = "03_simd",
                              .tiles = {16, 64},
                              .expect = {.shape = {128, 50257}, .over_parent = 1.05},
                              .when = {{128, 50257}, "rows longer than the caches near the core"}});
KLAB_SIMD_CLOSE();
#endif
