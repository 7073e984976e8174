// ssim_loss_bwd.cpu.02_separable: along columns, then along rows, forward and backward.
//
// CHANGE    both windows are products of two: the moments as in the forward's 02_separable, the three maps of slopes likewise.
// EXPECT    44 taps in place of 242.
// NUMERICS  windows in two sums.
// NEEDS     three maps and five rows of memory.
#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/core/registrar.h"
#include "reference/ssim_loss_bwd/ssim_loss_bwd.h"

namespace klab {
namespace {

constexpr int64_t kRadius = SsimLossFwd::radius;
constexpr const float* kTaps = SsimLossFwd::window;

using Rows = std::vector<float>;

/// Adds a row by a weight, five places to the right.
void add(const float* row, int64_t width, float w, Rows& sum) {
  for (int64_t j = 0; j < width; ++j) sum[size_t(j + kRadius)] += w * row[j];
}
void add_product(const float* a, const float* b, int64_t width, float w, Rows& sum) {
  for (int64_t j = 0; j < width; ++j) sum[size_t(j + kRadius)] += w * a[j] * b[j];
}
float across(const Rows& sum, int64_t column) {
  float m = 0;
  for (int64_t j = -kRadius; j <= kRadius; ++j) m += kTaps[std::abs(j)] * sum[size_t(column + kRadius + j)];
  return m;
}

void slopes(const SsimLossFwd::Shape& s, const float* x, const float* y, int64_t row, Rows (&sums)[5],
            Rows (&maps)[3]) {
  for (Rows& sum : sums) sum.assign(size_t(s.width + 2 * kRadius), 0.0F);
  for (int64_t i = std::max(-kRadius, -row); i <= std::min(kRadius, s.height - 1 - row); ++i) {
    const float w = kTaps[std::abs(i)], *a = x + (row + i) * s.width, *b = y + (row + i) * s.width;
    add(a, s.width, w, sums[0]);
    add(b, s.width, w, sums[1]);
    add_product(a, a, s.width, w, sums[2]);
    add_product(b, b, s.width, w, sums[3]);
    add_product(a, b, s.width, w, sums[4]);
  }
  constexpr float c1 = SsimLossFwd::c1, c2 = SsimLossFwd::c2;
  for (int64_t j = 0; j < s.width; ++j) {
    const float mx = across(sums[0], j), my = across(sums[1], j), xx = across(sums[2], j);
    const float yy = across(sums[3], j), xy = across(sums[4], j);
    const float light = 2 * mx * my + c1, structure = 2 * (xy - mx * my) + c2;
    const float light_size = mx * mx + my * my + c1, structure_size = xx - mx * mx + yy - my * my + c2;
    const float inverse = 1 / (light_size * structure_size), value = light * structure * inverse;
    const auto at = size_t(row * s.width + j);
    maps[0][at] =
        2 * my * (structure - light) * inverse + 2 * mx * value * (1 / structure_size - 1 / light_size);
    maps[1][at] = -value / structure_size;
    maps[2][at] = 2 * light * inverse;
  }
}

void run(const SsimLossBwd::Args<float>& x) {
  const SsimLossFwd::Shape& s = x.shape;
  const float share = x.d_loss[0] / float(3 * s.pixels()), weight = x.weight[0];
  Rows sums[5], maps[3];
  for (Rows& map : maps) map.resize(size_t(s.pixels()));
  for (int64_t c = 0; c < 3; ++c) {
    const float *image = x.image + c * s.pixels(), *target = x.target + c * s.pixels();
    for (int64_t row = 0; row < s.height; ++row) slopes(s, image, target, row, sums, maps);
    for (int64_t row = 0; row < s.height; ++row) {
      for (int e = 0; e < 3; ++e) {
        sums[e].assign(size_t(s.width + 2 * kRadius), 0.0F);
        for (int64_t i = std::max(-kRadius, -row); i <= std::min(kRadius, s.height - 1 - row); ++i)
          add(maps[e].data() + (row + i) * s.width, s.width, kTaps[std::abs(i)], sums[e]);
      }
      for (int64_t j = 0; j < s.width; ++j) {
        const int64_t at = row * s.width + j;
        const float off = image[at] - target[at], sign = off > 0 ? 1.0F : off < 0 ? -1.0F : 0.0F;
        const float slope =
            across(sums[0], j) + 2 * image[at] * across(sums[1], j) + target[at] * across(sums[2], j);
        x.d_image[c * s.pixels() + at] = share * ((1 - weight) * sign - weight * slope);
      }
    }
  }
}

KLAB_VARIANT(SsimLossBwd, {.run = run,
                           .parent = "01_naive",
                           .numerics = {.growth = Growth::linear},
                           .tiles = {11},
                           .expect = {.shape = {400, 400}, .over_parent = 3}});

}  // namespace
}  // namespace klab
