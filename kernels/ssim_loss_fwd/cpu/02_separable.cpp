// ssim_loss_fwd.cpu.02_separable: along columns, then along rows.
//
// CHANGE    the window is a product of two: five moments of a row of pixels are made of eleven rows first, then eleven of these
//           sums along the row.
// EXPECT    22 taps in place of 121.
// NUMERICS  windows in two sums.
// NEEDS     five rows of memory.
#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/core/registrar.h"
#include "reference/ssim_loss_fwd/ssim_loss_fwd.h"

namespace klab {
namespace {

constexpr int64_t kRadius = SsimLossFwd::radius;
constexpr const float* kTaps = SsimLossFwd::window;

/// Sums along columns around a row: E[x], E[y], E[x^2], E[y^2], E[xy], each [width] between five zeros.
void down(const SsimLossFwd::Shape& s, const float* x, const float* y, int64_t row,
          std::vector<float> (&sums)[5]) {
  for (std::vector<float>& sum : sums) sum.assign(size_t(s.width + 2 * kRadius), 0.0F);
  for (int64_t i = std::max(-kRadius, -row); i <= std::min(kRadius, s.height - 1 - row); ++i) {
    const float w = kTaps[std::abs(i)];
    const float *a = x + (row + i) * s.width, *b = y + (row + i) * s.width;
    for (int64_t j = 0; j < s.width; ++j) {
      const auto to = size_t(j + kRadius);
      sums[0][to] += w * a[j];
      sums[1][to] += w * b[j];
      sums[2][to] += w * a[j] * a[j];
      sums[3][to] += w * b[j] * b[j];
      sums[4][to] += w * a[j] * b[j];
    }
  }
}

float similarity(const std::vector<float> (&sums)[5], int64_t column) {
  constexpr float c1 = SsimLossFwd::c1, c2 = SsimLossFwd::c2;
  float m[5] = {0, 0, 0, 0, 0};
  for (int64_t j = -kRadius; j <= kRadius; ++j)
    for (int e = 0; e < 5; ++e) m[e] += kTaps[std::abs(j)] * sums[e][size_t(column + kRadius + j)];
  const float both = m[0] * m[1], squares = m[0] * m[0] + m[1] * m[1];
  return (2 * both + c1) * (2 * (m[4] - both) + c2) /
         ((squares + c1) * (m[2] - m[0] * m[0] + m[3] - m[1] * m[1] + c2));
}

void run(const SsimLossFwd::Args<float>& x) {
  const SsimLossFwd::Shape& s = x.shape;
  double distance = 0, alike = 0;
  std::vector<float> sums[5];
  for (int64_t c = 0; c < 3; ++c) {
    const float *image = x.image + c * s.pixels(), *target = x.target + c * s.pixels();
    for (int64_t row = 0; row < s.height; ++row) {
      down(s, image, target, row, sums);
      for (int64_t column = 0; column < s.width; ++column) {
        distance += std::abs(image[row * s.width + column] - target[row * s.width + column]);
        alike += similarity(sums, column);
      }
    }
  }
  const double values = 3 * double(s.pixels()), weight = x.weight[0];
  x.loss[0] = float((1 - weight) * distance / values + weight * (1 - alike / values));
}

KLAB_VARIANT(SsimLossFwd, {.run = run,
                           .parent = "01_naive",
                           .numerics = {.growth = Growth::linear},
                           .tiles = {11},
                           .expect = {.shape = {400, 400}, .over_parent = 3}});

}  // namespace
}  // namespace klab
