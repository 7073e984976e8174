#include "reference/gs_rasterize_fwd/gs_rasterize_fwd.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "reference/generator.h"
#include "reference/gs_rasterize_fwd/splat.h"

namespace klab {
namespace {

using Uniform = std::uniform_real_distribution<double>;

/// Returns whether a pixel has an alpha so near a border that the steps of a gradient check cross it.
bool near_a_border(const GsRasterizeFwd::Args<float>& x, int64_t g) {
  const GsRasterizeFwd::Shape& s = x.shape;
  const double xx = x.conic[g], xy = x.conic[s.n + g], yy = x.conic[2 * s.n + g];
  for (int64_t row = 0; row < s.height; ++row)
    for (int64_t column = 0; column < s.width; ++column) {
      const double dx = x.mean[g] - (double(column) + 0.5), dy = x.mean[s.n + g] - (double(row) + 0.5);
      const double alpha = x.opacity[g] * std::exp(-0.5 * (xx * dx * dx + yy * dy * dy) - xy * dx * dy);
      if (std::abs(alpha / GsRasterizeFwd::least - 1) < 2e-3 ||
          std::abs(alpha / GsRasterizeFwd::most - 1) < 2e-3)
        return true;
    }
  return false;
}

/// Draws Gaussian g around a tile: two deviations, an angle, an opacity.
void draw_one(const GsRasterizeFwd::Args<float>& x, int64_t g, Generator& random) {
  const GsRasterizeFwd::Shape& s = x.shape;
  const int64_t home = g % s.tiles();
  auto *mean = const_cast<float*>(x.mean), *conic = const_cast<float*>(x.conic),
       *opacity = const_cast<float*>(x.opacity);
  mean[g] = float(16 * double(home % s.columns()) + Uniform(0, 16)(random));
  mean[s.n + g] = float(16 * double(home / s.columns()) + Uniform(0, 16)(random));
  const auto deviation = [&] {
    return std::pow(10.0, random.widely ? Uniform(-0.26, 2)(random) : Uniform(-0.2, 0.78)(random));
  };
  const double turn = Uniform(0, std::numbers::pi)(random), c = std::cos(turn), sn = std::sin(turn);
  const double along = 1 / std::pow(deviation(), 2), across = 1 / std::pow(deviation(), 2);
  conic[g] = float(c * c * along + sn * sn * across);
  conic[s.n + g] = float(c * sn * (along - across));
  conic[2 * s.n + g] = float(sn * sn * along + c * c * across);
  opacity[g] = float(random() % 16 == 0 ? 1.0 : Uniform(0.02, 0.98)(random));
  if (random.widely && random() % 8 == 0) opacity[g] = 0;
}

}  // namespace

void GsRasterizeFwd::arrange(const Args<float>& x, Generator& random) {
  const Shape& s = x.shape;
  const int64_t tiles = s.tiles();
  const bool careful = !random.widely && s.n * s.width * s.height <= 400000;
  for (int64_t g = 0; g < s.n; ++g) {
    int tries = 0;
    do draw_one(x, g, random);
    while (careful && ++tries < 60 && near_a_border(x, g));
  }
  auto *begin = const_cast<int32_t*>(x.tile_begin), *id = const_cast<int32_t*>(x.id);
  const int64_t used = random.widely ? 1 + int64_t(random() % uint64_t(tiles)) : tiles;  // tiles with a list
  for (int64_t t = 0; t <= tiles; ++t) begin[t] = int32_t(s.pairs * std::min(t, used) / used);
  std::vector<int32_t> near;
  for (int64_t t = 0; t < tiles; ++t) {
    const int64_t count = begin[t + 1] - begin[t];
    near.clear();
    // The tile itself, then its neighbors; the home of Gaussian g is tile g % tiles.
    for (const int64_t offset : {int64_t{0}, int64_t{1}, int64_t{-1}, s.columns(), -s.columns()})
      for (int64_t g = (t + offset + tiles) % tiles; g < s.n && int64_t(near.size()) < count; g += tiles)
        if (t + offset >= 0 && t + offset < tiles) near.push_back(int32_t(g));
    while (int64_t(near.size()) < count) near.push_back(int32_t(random() % uint64_t(s.n)));
    std::sort(near.begin(), near.end());
    std::copy(near.begin(), near.end(), id + begin[t]);
  }
}

void GsRasterizeFwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  using Real = RunningError;
  const Shape& s = x.shape;
  const double unit = terms(s) * 0x1p-24;
  for (int64_t row = 0; row < s.height; ++row)
    for (int64_t column = 0; column < s.width; ++column) {
      const int64_t t = row / tile * s.columns() + column / tile;
      Real T = 1, color[3] = {0, 0, 0};
      // largest effect of an uncertain decision; all of it is behind, and below T like T itself
      double jump = 0;
      double brightest = 0;
      for (int64_t c = 0; c < 3; ++c) brightest = std::max(brightest, std::abs(x.background[c]));
      for (int64_t k = x.tile_begin[t]; k < x.tile_begin[t + 1]; ++k) {
        const int64_t g = x.id[k];
        const Splat one = splat(s, x.mean, x.conic, x.opacity, g, double(column) + 0.5, double(row) + 0.5);
        for (int64_t c = 0; c < 3; ++c) brightest = std::max(brightest, std::abs(x.color[c * s.n + g]));
        if (straddles(one.alpha, least)) jump += 2 * T.value * least;
        if (one.skipped) continue;
        const Real left = T * (Real(1) - one.alpha);
        if (straddles(left, stop)) jump += 2 * T.value;
        if (left.value < stop) break;
        const Real weight = T * one.alpha;
        for (int64_t c = 0; c < 3; ++c) color[c] += weight * Real(x.color[c * s.n + g]);
        T = left;
      }
      const int64_t pixel = row * s.width + column, plane = s.width * s.height;
      for (int64_t c = 0; c < 3; ++c) {
        const Real v = color[c] + T * Real(x.background[c]);
        x.image[c * plane + pixel] = v.value;
        magnitude.image[c * plane + pixel] = v.error + jump * brightest / unit;
      }
      x.transmittance[pixel] = T.value;
      magnitude.transmittance[pixel] = T.error + jump / unit;
    }
}

}  // namespace klab
