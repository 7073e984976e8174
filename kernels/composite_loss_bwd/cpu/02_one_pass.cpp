// composite_loss_bwd.cpu.02_one_pass: the gradient is linear in g, which is not known yet.
//
// CHANGE    d_raw = slope·<g, T·rgb + prefix - total> with prefix and total of w·rgb: only g and total wait
//           for the end of the ray. One walk leaves the vector T·rgb + prefix, the weight and the slope; when
//           the ray has ended so has its color, and a short loop without exponentials makes the gradients.
// EXPECT    two exponentials per sample in place of seven, and each sample is read once: at least 2.5 times the
//           parent.
// NUMERICS  colors are summed before g weighs them: the same terms, rounded once more.
// NEEDS     20 bytes per sample of the longest ray, which stay in L1.
#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/core/registrar.h"
#include "reference/composite_loss_bwd/composite_loss_bwd.h"

namespace klab {
namespace {

struct Left {
  float slope, weight;
  float color[3];  // T·rgb + prefix
};

void run(const CompositeLossBwd::Args<float>& x) {
  const auto [rays, samples, kind] = x.shape;
  const float turn = CompositeLossFwd::turn(kind), least = std::exp(-15.0F), most = std::exp(15.0F);
  int64_t longest = 0;
  for (int64_t r = 0; r < rays; ++r)
    longest = std::max<int64_t>(longest, x.ray_begin[r + 1] - x.ray_begin[r]);
  std::vector<Left> left(static_cast<size_t>(longest));
  for (int64_t r = 0; r < rays; ++r) {
    const int64_t begin = x.ray_begin[r], end = x.ray_begin[r + 1];
    float transmittance = 1, total[3] = {};
    int64_t last = begin;
    for (; last < end && transmittance >= float(CompositeLossFwd::stop); ++last) {
      const float sigma = std::exp(x.density_raw[last]), passed = std::exp(-sigma * x.delta[last]);
      Left& own = left[size_t(last - begin)];
      own.slope = std::clamp(sigma, least, most) * x.delta[last];
      own.weight = transmittance * (1 - passed);
      transmittance *= passed;
      for (int64_t c = 0; c < 3; ++c) {
        const float channel = x.rgb[c * samples + last];
        total[c] += own.weight * channel;
        own.color[c] = transmittance * channel + total[c];
      }
    }
    float loss = 0, g[3];
    for (int64_t c = 0; c < 3; ++c) {
      total[c] += transmittance * x.background[c * rays + r];
      const float e = total[c] - x.target[c * rays + r], s = std::clamp(e, -turn, turn);
      loss += kind == 0 ? e * e : s * (e - 0.5F * s);
      g[c] = x.d_loss[r] / 3 * (kind == 0 ? 2 * e : s);
    }
    x.loss[r] = loss / 3;
    for (int64_t i = begin; i < last; ++i) {
      const Left& own = left[size_t(i - begin)];
      float sum = 0;
      for (int64_t c = 0; c < 3; ++c) {
        sum += g[c] * (own.color[c] - total[c]);
        x.d_rgb[c * samples + i] = own.weight * g[c];
      }
      x.d_density_raw[i] = own.slope * sum;
    }
    for (int64_t i = last; i < end; ++i) {
      x.d_density_raw[i] = 0;
      for (int64_t c = 0; c < 3; ++c) x.d_rgb[c * samples + i] = 0;
    }
  }
}

KLAB_VARIANT(CompositeLossBwd, {.run = run,
                                .parent = "01_separate",
                                .numerics = {.growth = Growth::linear},
                                .expect = {.shape = {8192, 1 << 18, 1}, .over_parent = 2.5}});

}  // namespace
}  // namespace klab
