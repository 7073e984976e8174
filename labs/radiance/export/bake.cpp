#include "labs/radiance/export/bake.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "labs/radiance/export/marching_cubes.h"
#include "reference/graded_grid.h"
#include "reference/gs_color_fwd/basis.h"

namespace klab {
namespace {

constexpr double kKeptShare =
    0.01;  // of the light: cells stay where a corner absorbs that much along an edge
constexpr int64_t kVerticesAtOnce = 1 << 13;

/// Places of vertices along an axis of the box, from its middle.
std::vector<float> planes_of(const VoxelModel& model) {
  const GradedGrid graded = GradedGrid::of(double(model.placement.side()), model.is_graded());
  const auto cells = int32_t(model.grid);
  std::vector<float> planes;
  for (int32_t k = 0; k <= cells; ++k)
    planes.push_back(graded.even() ? model.placement.side() * (float(k) / float(cells) - 0.5F)
                                   : graded.plane<float>(k, cells));
  return planes;
}

/// Directions spread evenly over the sphere, along a spiral whose turns have the golden angle.
std::vector<Vec3> even_directions(int count) {
  constexpr double kGoldenAngle = 2.399963229728653;
  std::vector<Vec3> directions;
  for (int i = 0; i < count; ++i) {
    const double z = 1 - (2 * i + 1.0) / count, ring = std::sqrt(1 - z * z);
    directions.push_back(
        {float(ring * std::cos(kGoldenAngle * i)), float(ring * std::sin(kGoldenAngle * i)), float(z)});
  }
  return directions;
}

/// Returns the matrix [basis][directions] that fits harmonics to values at the directions, by least squares.
std::vector<std::vector<double>> fit_of_harmonics(const std::vector<Vec3>& directions, size_t basis) {
  const size_t n = directions.size();
  std::vector<std::vector<double>> Y(basis, std::vector<double>(n)), A(basis, std::vector<double>(basis));
  for (size_t i = 0; i < n; ++i)
    for (const HarmonicTerm& t : harmonic_terms())
      if (size_t(t.output) < basis)
        Y[size_t(t.output)][i] += t.factor * std::pow(directions[i].x, t.px) *
                                  std::pow(directions[i].y, t.py) * std::pow(directions[i].z, t.pz);
  for (size_t a = 0; a < basis; ++a)
    for (size_t b = 0; b < basis; ++b)
      for (size_t i = 0; i < n; ++i) A[a][b] += Y[a][i] * Y[b][i];
  // Gauss and Jordan on A·X = Y; A is nearly a multiple of the identity.
  for (size_t k = 0; k < basis; ++k)
    for (size_t r = 0; r < basis; ++r) {
      if (r == k) continue;
      const double factor = A[r][k] / A[k][k];
      for (size_t c = 0; c < basis; ++c) A[r][c] -= factor * A[k][c];
      for (size_t i = 0; i < n; ++i) Y[r][i] -= factor * Y[k][i];
    }
  for (size_t k = 0; k < basis; ++k)
    for (double& y : Y[k]) y /= A[k][k];
  return Y;
}

float logit_of(float color) {
  constexpr float kEdge = 1.0F / 512;  // half a level of a byte
  const float c = std::clamp(color, kEdge, 1 - kEdge);
  return std::log(c / (1 - c));
}

/// Computes the mean density around each vertex, as a logarithm; `empty` where pictures show nothing.
std::vector<float> vertex_densities(FieldPoints& field, const VoxelModel& model,
                                    const std::vector<float>& planes) {
  const int64_t line = model.grid + 1, plane = line * line;
  std::vector<float> densities(size_t(line * plane)), log_densities(size_t(8 * line));
  std::vector<Vec3> points(size_t(8 * line));
  const auto quarter_way = [&](int64_t k, bool above) {  // a quarter of the way to the next plane
    const int64_t next = std::clamp(above ? k + 1 : k - 1, int64_t{0}, line - 1);
    return 0.5F + planes[size_t(k)] + 0.25F * (planes[size_t(next)] - planes[size_t(k)]);
  };
  for (int64_t z = 0; z < line; ++z)
    for (int64_t y = 0; y < line; ++y) {
      for (int64_t x = 0; x < line; ++x)
        for (int64_t c = 0; c < 8; ++c)
          points[size_t(8 * x + c)] = {quarter_way(x, (c & 1) != 0), quarter_way(y, (c & 2) != 0),
                                       quarter_way(z, (c & 4) != 0)};
      field.density(points.data(), 8 * line, log_densities.data());
      for (int64_t x = 0; x < line; ++x) {
        double sum = 0;
        for (int64_t c = 0; c < 8; ++c)
          sum += std::exp(std::min(60.0, double(log_densities[size_t(8 * x + c)])));
        densities[size_t(z * plane + y * line + x)] =
            std::max(float(model.config.empty), float(std::log(std::max(sum / 8, 1e-30))));
      }
    }
  return densities;
}

/// Numbers the vertices of cells that absorb something.
int64_t number_vertices(VoxelModel& model, const std::vector<float>& densities,
                        const std::vector<float>& planes) {
  const int64_t grid = model.grid, line = grid + 1;
  std::fill(model.links.begin(), model.links.end(), -1);
  const auto at = [&](int64_t x, int64_t y, int64_t z) { return (z * line + y) * line + x; };
  const auto edge = [&](int64_t k) { return double(planes[size_t(k + 1)]) - planes[size_t(k)]; };
  for (int64_t z = 0; z < grid; ++z)
    for (int64_t y = 0; y < grid; ++y)
      for (int64_t x = 0; x < grid; ++x) {
        const double least = std::log(-std::log1p(-kKeptShare) / std::max({edge(x), edge(y), edge(z)}));
        bool kept = false;
        for (int64_t c = 0; c < 8; ++c)
          kept = kept || densities[size_t(at(x + (c & 1), y + (c >> 1 & 1), z + (c >> 2)))] >= least;
        for (int64_t c = 0; kept && c < 8; ++c)
          model.links[at(x + (c & 1), y + (c >> 1 & 1), z + (c >> 2))] = 0;
      }
  int64_t rows = 0;
  for (int64_t v = 0; v < model.links.size(); ++v)
    if (model.links[v] == 0) model.links[v] = int32_t(rows++);
  return rows;
}

}  // namespace

VoxelModel baked_voxels(FieldPoints& field, const Placement& placement, const BakeOptions& o) {
  VoxelConfig config;
  config.grid = o.grid;
  config.first_grid = std::min(config.first_grid, o.grid);
  config.sh_degree = o.sh_degree;
  if (o.even) config.spacing = "even";
  VoxelModel frame(config, placement, o.grid, 0);
  const std::vector<float> planes = planes_of(frame), densities = vertex_densities(field, frame, planes);
  const int64_t rows = number_vertices(frame, densities, planes);
  if (rows == 0) throw std::runtime_error("the field is transparent everywhere: nothing is left to draw");
  VoxelModel out(config, placement, o.grid, rows);
  std::copy(frame.links.begin(), frame.links.end(), out.links.begin());
  out.mark_cells();

  const auto basis = size_t(config.basis());
  const std::vector<Vec3> directions = even_directions(int(3 * basis + 3));
  const auto fit = fit_of_harmonics(directions, basis);
  const size_t n = directions.size();
  const int64_t line = o.grid + 1;
  std::vector<Vec3> points, toward, rgb;
  std::vector<int64_t> of_rows;
  const auto finish = [&] {
    rgb.resize(points.size());
    field.color(points.data(), toward.data(), int64_t(points.size()), rgb.data());
    for (size_t v = 0; v < of_rows.size(); ++v)
      for (size_t b = 0; b < basis; ++b) {
        double sum[3] = {};
        for (size_t i = 0; i < n; ++i) {
          const Vec3 c = rgb[v * n + i];
          sum[0] += fit[b][i] * logit_of(c.x), sum[1] += fit[b][i] * logit_of(c.y),
              sum[2] += fit[b][i] * logit_of(c.z);
        }
        for (size_t k = 0; k < 3; ++k)
          out.coefficients[(of_rows[v] * 3 + int64_t(k)) * int64_t(basis) + int64_t(b)] = float(sum[k]);
      }
    points.clear(), toward.clear(), of_rows.clear();
  };
  for (int64_t v = 0; v < out.links.size(); ++v) {
    const int32_t row = out.links[v];
    if (row < 0) continue;
    out.density[row] = densities[size_t(v)];
    const auto place = [&](int64_t k) { return 0.5F + planes[size_t(k)]; };
    points.insert(points.end(), n, {place(v % line), place(v / line % line), place(v / (line * line))});
    toward.insert(toward.end(), directions.begin(), directions.end());
    of_rows.push_back(row);
    if (int64_t(of_rows.size()) == kVerticesAtOnce) finish();
  }
  if (!of_rows.empty()) finish();
  return out;
}

GaussianModel plain_gaussians(const GaussianModel& model) {
  GaussianModel out = model;
  out.set.degree = 0;
  out.set.coefficients.resize(size_t(3 * out.set.n));
  out.config.sh_degree = 0;
  return out;
}

}  // namespace klab
