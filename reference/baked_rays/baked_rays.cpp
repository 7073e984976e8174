#include "reference/baked_rays/baked_rays.h"

#include <vector>

#include "reference/cell_distance/chessboard.h"
#include "reference/generator.h"
#include "reference/running_error.h"
#include "reference/voxel_sh_fwd/corners.h"

namespace klab {
namespace {

using Unit = std::uniform_real_distribution<float>;

// Draws rays from inside and outside the box, most of them towards it, every eighth along an axis.
void arrange_rays(const BakedRays::Args<float>& x, float side, Generator& random) {
  const BakedRays::Shape& s = x.shape;
  std::normal_distribution<float> normal;
  auto *origins = const_cast<float*>(x.origins), *directions = const_cast<float*>(x.directions);
  for (int64_t r = 0; r < s.rays; ++r) {
    float norm = 0;
    for (int axis = 0; axis < 3; ++axis) {
      float& o = origins[axis * s.rays + r];
      float& d = directions[axis * s.rays + r];
      o = 0.5F + side * 1.5F * (Unit(0, 1)(random) - 0.5F);
      if (random.widely && random() % 4 == 0) o = std::floor(o * float(s.grid)) / float(s.grid);
      d = r % 8 == 7 ? float(axis == int(r / 8 % 3)) : 0.5F + 0.3F * side * normal(random) - o;
      if (random.widely && random() % 8 == 0) d = std::exp2(-Unit(17, 40)(random));  // 1e-5 to 1e-12
      if (random.widely && random() % 2) d = -d;
      norm += d * d;
    }
    for (int axis = 0; axis < 3; ++axis) directions[axis * s.rays + r] /= std::sqrt(norm);
  }
}

// Fills blobs of cells, or in large grids a hollow ball, as a baked surface is; gives the corners of filled cells rows, in
// the order of the vertices, and repeats rows where there are too few.
void arrange_grid(const BakedRays::Args<float>& x, Generator& random) {
  const int64_t grid = x.shape.grid, line = grid + 1;
  std::vector<uint8_t> cells(static_cast<size_t>(x.shape.cells()), uint8_t{255});
  const double middle = 0.5 * double(grid - 1), outer = double(Unit(0.25F, 0.45F)(random)) * double(grid);
  const bool ball = !random.widely && grid >= 32;
  int64_t blob = 0;  // cells left of the present one
  for (int64_t i = 0; i < x.shape.cells() && x.shape.rows > 0; ++i) {
    if (ball) {
      const double away = std::hypot(double(i % grid) - middle, double(i / grid % grid) - middle,
                                     double(i / (grid * grid)) - middle);
      if (away < outer && away >= outer - 4) cells[size_t(i)] = 0;
      continue;
    }
    if (blob > 0) --blob;
    if (blob == 0 && random() % uint64_t(4 + grid) == 0) blob = 1 + int64_t(random() % 6);
    if (blob > 0) cells[size_t(i)] = 0;
  }
  auto* links = const_cast<int32_t*>(x.links);
  std::fill_n(links, x.shape.vertices(), -1);
  for (int64_t i = 0; i < x.shape.cells(); ++i)
    for (int64_t c = 0; c < 8 && cells[size_t(i)] == 0; ++c)
      links[((i / (grid * grid) + (c >> 2)) * line + i / grid % grid + (c >> 1 & 1)) * line + i % grid +
            (c & 1)] = 0;
  int64_t next = 0;
  for (int64_t v = 0; v < x.shape.vertices(); ++v)
    if (links[v] == 0) links[v] = int32_t(next++ % x.shape.rows);
  spread_chessboard(cells, grid);
  if (random.widely && random() % 2 == 0)  // jumps may be shorter
    for (uint8_t& d : cells) d = uint8_t(d > 1 && random() % 2 == 0 ? 1 + random() % d : d);
  std::copy(cells.begin(), cells.end(), const_cast<uint8_t*>(x.distance));
}

/// Whether values within the error of v lie on both sides of a border.
bool straddles(RunningError v, double border) {
  return std::abs(v.value - border) <= (4 * v.error + 4 * border) * 0x1p-24;
}

/// The logistic function: the steepest slope within the error, and a few roundings of its own.
RunningError logistic(RunningError sum) {
  const double value = voxel_logistic(sum.value);
  const double least = std::max(0.0, std::abs(sum.value) - 4 * 0x1p-24 * sum.error);
  return {value, voxel_logistic(least) * voxel_logistic(-least) * sum.error + 4 * value};
}

/// The interpolated number n of a row.
RunningError interpolated(const BakedRays::Args<double>& x, const BakedRays::Place& place, int64_t n) {
  const int64_t line = x.shape.grid + 1;
  RunningError sum = 0;
  for (int64_t c = 0; c < 8; ++c) {
    RunningError weight = 1;
    int64_t vertex = 0;
    for (int axis = 2; axis >= 0; --axis) {
      const bool upper = (c >> axis & 1) != 0;
      const RunningError w = double(place.upper[axis]);
      weight = weight * (upper ? w : RunningError(1) - w);
      vertex = vertex * line + place.cell[axis] + upper;
    }
    sum += weight * RunningError(double(x.table[x.links[vertex] * x.shape.numbers() + n]));
  }
  return sum * RunningError(x.factors[n]);
}

}  // namespace

void BakedRays::arrange(const Args<float>& x, Generator& random) {
  const float side = random.widely ? float(1 << random() % 4) : 1.0F, cell = side / float(x.shape.grid);
  auto *settings = const_cast<float*>(x.settings), *factors = const_cast<float*>(x.factors);
  settings[0] = random.widely && random() % 2 ? Unit(0, side)(random) : 0.05F;
  settings[1] = side;
  settings[2] = random.widely ? cell * Unit(0.3F, 1.6F)(random) : 0.75F * cell;
  settings[3] = !random.widely ? 1e-3F : random() % 3 == 0 ? 0.0F : std::exp2(-Unit(1, 20)(random));
  arrange_rays(x, side, random);
  arrange_grid(x, random);
  for (int64_t i = 0; i < x.shape.rows * x.shape.numbers(); ++i)
    const_cast<int8_t*>(x.table)[i] = int8_t(int(random() % 255) - 127);
  for (int64_t n = 0; n < x.shape.numbers(); ++n) factors[n] = Unit(1, n == 0 ? 6.0F : 3.0F)(random) / 127;
}

void BakedRays::reference(const Args<double>& x, const Args<double>& magnitude) {
  using Real = RunningError;
  const Shape& s = x.shape;
  const double unit = terms(s) * 0x1p-24, stop = x.settings[3];
  // The values are floats held in doubles; converting back is exact.
  const float settings[4] = {float(x.settings[0]), float(x.settings[1]), float(x.settings[2]), float(stop)};
  double brightest = 1;
  for (int64_t k = 0; k < 3; ++k) brightest = std::max(brightest, std::abs(x.background[k]));
  for (int64_t r = 0; r < s.rays; ++r) {
    float o[3], d[3];
    for (int axis = 0; axis < 3; ++axis) {
      o[axis] = float(x.origins[axis * s.rays + r]);
      d[axis] = float(x.directions[axis * s.rays + r]);
    }
    const Path p = path(o, d, settings, s.grid);
    const auto Y = voxel_harmonics<Real>(Real(double(d[0])), Real(double(d[1])), Real(double(d[2])),
                                         [](double v) { return rounded(v); });
    Real T = 1, color[3] = {0, 0, 0}, depth = 0;
    double jump = 0;  // the most that shows behind a sample that may or may not be the last
    for (int64_t k = 0; p.t(k) < p.line.leave; ++k) {
      const Place at = place(p, p.t(k));
      if (x.distance[at.index(s.grid)] != 0) continue;
      const Real tau = exp(interpolated(x, at, 0)) * Real(double(p.step)), through = exp(-tau);
      const Real weight = T * (Real(1) - through);
      for (int64_t channel = 0; channel < 3; ++channel) {
        Real sum = 0;
        for (int64_t b = 0; b < s.basis; ++b)
          sum += Y[size_t(b)] * interpolated(x, at, (1 + channel) * s.basis + b);
        color[channel] += weight * logistic(sum);
      }
      depth += weight * Real(double(p.t(k)));
      T = T * through;
      if (straddles(T, stop)) jump += 2 * T.value;
      if (T.value < stop) break;
    }
    for (int64_t channel = 0; channel < 3; ++channel) {
      const Real v = color[channel] + T * Real(x.background[channel]);
      x.color[channel * s.rays + r] = v.value;
      magnitude.color[channel * s.rays + r] = v.error + jump * brightest / unit;
    }
    const Real opacity = Real(1) - T;
    x.opacity[r] = opacity.value;
    magnitude.opacity[r] = opacity.error + jump / unit;
    x.depth[r] = depth.value;
    magnitude.depth[r] = depth.error + (jump > 0 ? jump * double(p.line.leave) / unit : 0);
  }
}

}  // namespace klab
