#include "labs/radiance/field/voxels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/records/input.h"
#include "harness/records/numbers.h"
#include "labs/radiance/field/settings.h"
#include "reference/graded_grid.h"
#include "reference/voxel_march/voxel_march.h"

namespace klab {
namespace {

constexpr int64_t kBrick =
    8;  // vertices: rows are numbered brick by brick, so that neighbors in space are close in memory

bool power_of_two(int64_t v) { return (v & (v - 1)) == 0; }

/// Calls visit(vertex) for all vertices, brick by brick.
template <class Visit>
void brick_by_brick(int64_t line, Visit&& visit) {
  const auto end = [&](int64_t begin) { return std::min(line, begin + kBrick); };
  for (int64_t z0 = 0; z0 < line; z0 += kBrick)
    for (int64_t y0 = 0; y0 < line; y0 += kBrick)
      for (int64_t x0 = 0; x0 < line; x0 += kBrick)
        for (int64_t z = z0; z < end(z0); ++z)
          for (int64_t y = y0; y < end(y0); ++y)
            for (int64_t x = x0; x < end(x0); ++x) visit((z * line + y) * line + x);
}

}  // namespace

void VoxelConfig::validate() const {
  const auto require = [](bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(std::string("config: ") + what);
  };
  require(power_of_two(grid) && power_of_two(first_grid),
          "\"grid\" and \"first_grid\" must be powers of two");
  require(first_grid <= grid, "\"first_grid\" must not be above \"grid\"");
  require(grow_until <= prune_until, "\"prune_until\" must not be below \"grow_until\"");
  require(far == 0 || far > near, "\"far\" must be 0 or above \"near\"");
}

VoxelConfig voxel_config_from_json(const std::string& text, const std::string& where) {
  return settings_from_json<VoxelConfig>(text, where);
}

VoxelModel::VoxelModel(const VoxelConfig& c, const Placement& p, int64_t g, int64_t rows)
    : config(c),
      placement(p),
      grid(g),
      links((g + 1) * (g + 1) * (g + 1)),
      density(rows),
      coefficients(rows * 3 * c.basis()),
      occupancy(g * g * g / 8) {}

VoxelModel VoxelModel::at_first(const VoxelConfig& c, const Placement& p) {
  const int64_t line = c.first_grid + 1;
  VoxelModel model(c, p, c.first_grid, line * line * line);
  // Reduced by log(side), so that light passes a large box, too.
  std::fill(model.density.begin(), model.density.end(), float(c.start - std::log(double(p.side()))));
  int32_t next = 0;
  brick_by_brick(line, [&](int64_t vertex) { model.links[vertex] = next++; });
  model.mark_cells();
  return model;
}

VoxelModel VoxelModel::copy() const {
  VoxelModel out(config, placement, grid, rows());
  std::copy(links.begin(), links.end(), out.links.begin());
  std::copy(density.begin(), density.end(), out.density.begin());
  std::copy(coefficients.begin(), coefficients.end(), out.coefficients.begin());
  std::copy(occupancy.begin(), occupancy.end(), out.occupancy.begin());
  return out;
}

VoxelModel VoxelModel::narrowed(Storage few) const {
  VoxelModel out(config, placement, grid, 0);
  const int64_t n = rows(), numbers = 3 * config.basis();
  std::copy(links.begin(), links.end(), out.links.begin());
  std::copy(occupancy.begin(), occupancy.end(), out.occupancy.begin());
  out.precision = few;
  out.few_densities = NarrowPart(Storage::f16, n, 0);
  narrow_into(out.few_densities, Storage::f16, {density.data(), size_t(n)}, {}, 0, 0);
  out.few_coefficients = NarrowPart(few, n * numbers, numbers);
  std::vector<Channel> harmonics;
  for (int64_t k = 0; k < numbers; ++k) harmonics.push_back({k, n, numbers});
  narrow_into(out.few_coefficients, few, {coefficients.data(), size_t(n * numbers)}, harmonics, 0, 0);
  if (has_no_number(out.few_densities, Storage::f16) || has_no_number(out.few_coefficients, few))
    throw std::runtime_error(fmt::format(
        "the voxels hold a number that {} cannot: take --precision bf16 or int8, or f32", name_of(few)));
  return out;
}

void VoxelModel::mark_cells() {
  const int64_t line = grid + 1;
  std::fill(occupancy.begin(), occupancy.end(), uint8_t(0));
#pragma omp parallel for schedule(static)
  for (int64_t b = 0; b < occupancy.size(); ++b)  // a byte is a block of 2x2x2 cells
    for (uint32_t bit = 0; bit < 8; ++bit) {
      // A coordinate has every third bit of a Morton index.
      int64_t cell[3] = {};
      for (int axis = 0; axis < 3; ++axis)
        for (int k = 0; k < 10; ++k)
          cell[axis] |= int64_t((uint64_t(b) * 8 + bit) >> (3 * k + axis) & 1) << k;
      bool all = true;
      for (int64_t c = 0; c < 8; ++c)
        all = all &&
              links[((cell[2] + (c >> 2)) * line + cell[1] + (c >> 1 & 1)) * line + cell[0] + (c & 1)] >= 0;
      if (all) occupancy[b] = uint8_t(occupancy[b] | 1U << bit);
    }
}

// Returns the lengths of cells along an axis, in units of the unit cube.
std::vector<double> VoxelModel::edges() const {
  std::vector<double> list(size_t(grid), double(placement.side()) / double(grid));
  const GradedGrid graded = GradedGrid::of(double(placement.side()), is_graded());
  const auto cells = int32_t(grid);
  for (int32_t k = 0; !graded.even() && k < cells; ++k)
    list[size_t(k)] = graded.plane<double>(k + 1, cells) - graded.plane<double>(k, cells);
  return list;
}

// Marks those of grid³ cells, x fastest, that are not transparent along their longest edge, and their
// neighbors, since a surface may move by a cell. Leaves the neighbors out when the finest grid is made: there
// each cell becomes eight that cost time in every step.
std::vector<uint8_t> VoxelModel::kept_cells(int64_t factor, const std::vector<uint8_t>& seen) const {
  const int64_t line = grid + 1;
  std::vector<float> least;  // smallest log-density to keep a cell, by its longest edge
  for (const double edge : edges())
    least.push_back(float(std::log(-std::log1p(-std::max(config.prune, 1e-12)) / edge)));
  std::vector<uint8_t> dense(size_t(grid * grid * grid)), kept(dense.size());
  const auto at = [&](int64_t x, int64_t y, int64_t z) { return size_t((z * grid + y) * grid + x); };
#pragma omp parallel for schedule(static)
  for (int64_t z = 0; z < grid; ++z)
    for (int64_t y = 0; y < grid; ++y)
      for (int64_t x = 0; x < grid; ++x) {
        const float needed = std::min({least[size_t(x)], least[size_t(y)], least[size_t(z)]});
        for (int64_t c = 0; c < 8; ++c) {
          const int32_t row = links[((z + (c >> 2)) * line + y + (c >> 1 & 1)) * line + x + (c & 1)];
          if (row >= 0 && density[row] >= needed && (seen.empty() || seen[size_t(row)] != 0))
            dense[at(x, y, z)] = 1;
        }
      }
  if (factor > 1 && factor * grid == config.grid) return dense;
#pragma omp parallel for schedule(static)
  for (int64_t z = 0; z < grid; ++z)
    for (int64_t y = 0; y < grid; ++y)
      for (int64_t x = 0; x < grid; ++x)
        for (int64_t k = std::max<int64_t>(0, z - 1); k <= std::min(grid - 1, z + 1); ++k)
          for (int64_t j = std::max<int64_t>(0, y - 1); j <= std::min(grid - 1, y + 1); ++j)
            for (int64_t i = std::max<int64_t>(0, x - 1); i <= std::min(grid - 1, x + 1); ++i)
              kept[at(x, y, z)] = uint8_t(kept[at(x, y, z)] | dense[at(i, j, k)]);
  return kept;
}

// Marks the vertices of the finer grid that belong to kept cells.
std::vector<uint8_t> VoxelModel::vertices_of(const std::vector<uint8_t>& kept, int64_t factor) const {
  const int64_t finer = grid * factor, line = finer + 1;
  std::vector<uint8_t> marked(size_t(line * line * line));
#pragma omp parallel for schedule(static)
  for (int64_t z = 0; z < line; ++z)
    for (int64_t y = 0; y < line; ++y)
      for (int64_t x = 0; x < line; ++x) {
        const auto cells = [&](int64_t v, int64_t side) {  // the cell below and the one above a vertex
          return std::clamp<int64_t>(v - 1 + side, 0, finer - 1) / factor;
        };
        for (int64_t c = 0; c < 8; ++c)
          if (kept[size_t((cells(z, c >> 2) * grid + cells(y, c >> 1 & 1)) * grid + cells(x, c & 1))] != 0)
            marked[size_t((z * line + y) * line + x)] = 1;
      }
  return marked;
}

int64_t VoxelModel::rows_refined(int64_t factor, const std::vector<uint8_t>& seen) const {
  const std::vector<uint8_t> marked = vertices_of(kept_cells(factor, seen), factor);
  return std::count(marked.begin(), marked.end(), 1);
}

VoxelModel VoxelModel::refined(int64_t factor, const std::vector<uint8_t>& seen) const {
  const std::vector<uint8_t> marked = vertices_of(kept_cells(factor, seen), factor);
  const int64_t rows_then = std::count(marked.begin(), marked.end(), 1), line = grid * factor + 1,
                numbers = 3 * config.basis();
  if (rows_then == 0)
    throw std::runtime_error(
        "no voxel is dense enough to be kept: lower \"prune\" in the config, or train for longer");
  VoxelModel out(config, placement, grid * factor, rows_then);
  std::fill(out.links.begin(), out.links.end(), -1);
  int32_t next = 0;
  brick_by_brick(line, [&](int64_t vertex) {
    if (marked[size_t(vertex)] != 0) out.links[vertex] = next++;
  });
#pragma omp parallel for schedule(static)
  for (int64_t vertex = 0; vertex < out.links.size(); ++vertex) {
    const int32_t row = out.links[vertex];
    if (row < 0) continue;
    const int64_t at[3] = {vertex % line, vertex / line % line, vertex / (line * line)};
    float raw = 0;
    for (int64_t c = 0; c < 8; ++c) {
      float weight = 1;
      int64_t from = 0;
      for (int axis = 2; axis >= 0; --axis) {
        const int64_t below = std::min(at[axis] / factor, grid - 1);
        const float part = float(at[axis] - below * factor) / float(factor);
        const bool upper = (c >> axis & 1) != 0;
        weight *= upper ? part : 1 - part;
        from = from * (grid + 1) + below + upper;
      }
      if (weight == 0) continue;
      const int32_t old = links[from];
      raw += weight * (old < 0 ? float(config.empty) : density[old]);
      for (int64_t k = 0; old >= 0 && k < numbers; ++k)
        out.coefficients[row * numbers + k] += weight * coefficients[old * numbers + k];
    }
    out.density[row] = raw;
  }
  out.mark_cells();
  return out;
}

std::vector<TensorView> VoxelModel::tensors() const {
  const int64_t line = grid + 1;
  return {{"links", "I32", {line, line, line}, links.data()},
          {"density", "F32", {rows()}, density.data()},
          {"coefficients", "F32", {rows(), 3, config.basis()}, coefficients.data()}};
}

std::map<std::string, std::string> VoxelModel::metadata() const {
  return {{"klab", kind},
          {"config", settings_to_json(config)},
          {"placement", placement_to_json(placement)},
          {"voxels", nlohmann::json{{"grid", grid}, {"rows", rows()}}.dump()}};
}

void VoxelModel::save(const std::filesystem::path& file) const { save_tensors(file, tensors(), metadata()); }

VoxelModel VoxelModel::load(const std::filesystem::path& path) {
  const TensorFile file(path);
  if (file.metadata("klab") != kind)
    throw std::runtime_error(path.string() + ": holds \"" + excerpt(file.metadata("klab")) +
                             "\", not voxels of version 1");
  return read(file);
}

VoxelModel VoxelModel::read(const TensorFile& file) {
  const std::string path = file.path().string(), where = path + ", its voxels";
  VoxelConfig config = voxel_config_from_json(file.metadata("config"), path + ", its config");
  if (!parse_json(file.metadata("config"), where).contains("spacing"))
    config.spacing = "even";  // for files written before there was a choice
  const Placement placement = placement_from(file);
  const nlohmann::json size = parse_json(file.metadata("voxels"), where);
  const auto grid = number_in<int64_t>(size, "grid", {8, 512}, where);
  const auto rows = number_in<int64_t>(size, "rows", {1, double(int64_t{1} << 26) - 1}, where);
  if (!power_of_two(grid)) throw std::runtime_error(where + ": \"grid\" must be a power of two");
  // Check the size before memory is allocated.
  const int64_t needed = 4 * ((grid + 1) * (grid + 1) * (grid + 1) + rows * (1 + 3 * config.basis()));
  if (size_t(needed) > file.data_bytes())
    throw std::runtime_error(path + ": holds less than its metadata say: damaged");
  VoxelModel model(config, placement, grid, rows);
  for (const TensorView& t : model.tensors()) file.read(t.name, t.dtype, t.shape, const_cast<void*>(t.data));
  for (const int32_t link : model.links)
    if (link < -1 || link >= rows)
      throw std::runtime_error(
          fmt::format("{}: \"links\" has row {}, and there are {}: damaged", path, link, rows));
  model.mark_cells();
  return model;
}

int64_t voxel_bytes_at_most(const VoxelConfig& c) {
  const auto vertices = [](int64_t grid) { return (grid + 1) * (grid + 1) * (grid + 1); };
  const int64_t rows = std::max(vertices(c.first_grid), std::min(c.max_rows, vertices(c.grid)));
  // Parameters, gradients and two moments; a step count for each row and table; links and marks.
  return rows * (16 * (1 + 3 * c.basis()) + 8) + 7 * vertices(c.grid);
}

}  // namespace klab
