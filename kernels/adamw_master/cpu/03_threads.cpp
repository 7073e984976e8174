// adamw_master.cpu.03_threads: entries shared out among the cores.
//
// CHANGE    each thread takes a run of entries that begins at a cache line.
// EXPECT    the bandwidth of the memory, of which one core reaches a part.
// NUMERICS  as the parent, bit for bit: entries do not meet.
#include <omp.h>

#include <algorithm>
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/adamw_master/adamw_master.h"

namespace klab {
namespace {

/// Entries [i, end), the step count being raised already.
void update(const AdamwMaster::Args<float>& x, int64_t i, int64_t end) {
  using namespace optimizer;
  float* __restrict__ master = x.master;
  Bfloat16* __restrict__ weight = x.weight;
  if (*x.first != AdamwMaster::kAllFinite) {
    for (; i < end; ++i) weight[i] = to_bfloat16(master[i]);
    return;
  }
  const float *h = x.hyper, unscaled = 1 / *x.scale, b1 = h[beta1], b2 = h[beta2], tiny = h[epsilon];
  const float rate1 = h[rate] / float(1 - std::pow(double(b1), *x.steps)), kept = 1 - h[rate] * h[decay];
  const float correct2 = float(1 - std::pow(double(b2), *x.steps));
  const float* __restrict__ gradient = x.gradient;
  float* __restrict__ m = x.m, * __restrict__ v = x.v;
#pragma omp simd
  for (int64_t k = i; k < end; ++k) {
    const float g = gradient[k] * unscaled;
    m[k] = b1 * m[k] + (1 - b1) * g;
    v[k] = b2 * v[k] + (1 - b2) * g * g;
    master[k] = kept * master[k] - rate1 * m[k] / (std::sqrt(v[k] / correct2) + tiny);
    weight[k] = to_bfloat16(master[k]);
  }
}

void run(const AdamwMaster::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 14;  // entries worth waking a team for
  constexpr int64_t kLine = 32;         // weights in a cache line
  const int64_t n = x.shape.n, lines = (n + kLine - 1) / kLine;
  if (*x.first == AdamwMaster::kAllFinite) ++*x.steps;
  if (n < kEnough) return update(x, 0, n);
#pragma omp parallel
  {
    const int64_t t = omp_get_thread_num(), parts = omp_get_num_threads();
    update(x, std::min(n, lines * t / parts * kLine), std::min(n, lines * (t + 1) / parts * kLine));
  }
}

KLAB_VARIANT(AdamwMaster, {.run = run,
                           .parent = "02_fused",
                           .tiles = {32, 1 << 14},
                           .expect = {.shape = {1 << 22}, .over_parent = 1.3}});

}  // namespace
}  // namespace klab
