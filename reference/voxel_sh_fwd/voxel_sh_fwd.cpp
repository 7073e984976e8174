#include "reference/voxel_sh_fwd/voxel_sh_fwd.h"

#include "reference/generator.h"
#include "reference/voxel_sh_fwd/corners.h"

namespace klab {
namespace {

using Unit = std::uniform_real_distribution<float>;

// Draws runs of points in one cell or in neighboring ones, like samples of a ray; some on planes and on the
// far border.
void arrange_points(const VoxelShFwd::Args<float>& x, Generator& random) {
  const int64_t n = x.shape.n;
  auto *positions = const_cast<float*>(x.positions), *directions = const_cast<float*>(x.directions);
  std::normal_distribution<float> normal;
  float from[3] = {}, way[3] = {};
  for (int64_t i = 0; i < n; ++i) {
    if (i % 8 == 0) {
      float norm = 0;
      for (int axis = 0; axis < 3; ++axis) {
        from[axis] = Unit(0, 1)(random);
        way[axis] = random.widely && i % 64 == 8 ? float(axis == int(random() % 3)) : normal(random);
        norm += way[axis] * way[axis];
      }
      for (float& v : way) v /= std::sqrt(std::max(norm, 1e-12F));
    }
    for (int axis = 0; axis < 3; ++axis) {
      float at = from[axis] + 0.7F * float(i % 8) * way[axis] / float(x.shape.grid);
      if (random() % 16 == 0) at = std::round(at * float(x.shape.grid)) / float(x.shape.grid);
      positions[axis * n + i] = std::clamp(at, 0.0F, 1.0F);
      directions[axis * n + i] = way[axis];
    }
  }
}

}  // namespace

void VoxelShFwd::arrange(const Args<float>& x, Generator& random) {
  const Shape& s = x.shape;
  arrange_points(x, random);
  *const_cast<float*>(x.empty) = random.widely ? Unit(-20, 5)(random) : -5.0F;
  // Assigns rows in the order of the vertices, as a program does, and repeats rows if there are too few.
  auto* links = const_cast<int32_t*>(x.links);
  int64_t next = 0;
  for (int64_t v = 0; v < s.vertices(); ++v)
    links[v] = s.rows == 0 || random() % 3 == 0 ? -1 : int32_t(next++ % s.rows);
}

void VoxelShFwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const Shape& s = x.shape;
  for (int64_t i = 0; i < s.n; ++i) {
    const VoxelPoint p = voxel_point(s, x.positions, x.directions, x.links, i);
    RunningError raw = 0;
    for (size_t c = 0; c < 8; ++c)
      raw += p.weight[c] * RunningError(p.row[c] < 0 ? x.empty[0] : x.density[p.row[c]]);
    x.raw[i] = raw.value;
    magnitude.raw[i] = raw.error;
    for (int64_t k = 0; k < s.colors(); ++k) {
      const RunningError sum = voxel_color(s, p, x.coefficients, k);
      const double value = voxel_logistic(sum.value);
      x.rgb[k * s.n + i] = value;
      // Uses the steepest slope within the error of the sum, but no value is off by more than 1; adds a few
      // roundings of the function itself. Where exp overflows, below the normal numbers, 0 is as good as the
      // value.
      const double off = terms(s) * 0x1p-24 * sum.error, least = std::max(0.0, std::abs(sum.value) - off);
      const double slope = voxel_logistic(least) * voxel_logistic(-least);
      magnitude.rgb[k * s.n + i] =
          std::min(slope * sum.error, 0x1p24 / terms(s)) + 4 * value + 0x1p-126 * 0x1p24 / terms(s);
    }
  }
}

}  // namespace klab
