#include "labs/radiance/evaluate/field_points.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "harness/program/run_ops.h"
#include "labs/radiance/field/field.h"
#include "reference/graded_grid.h"
#include "reference/gs_color_fwd/basis.h"

namespace klab {
namespace {

constexpr int64_t kAtOnce = 1 << 15;  // points

uint32_t spread_bits(uint32_t v) {
  v = (v | v << 16) & 0x030000FFU;
  v = (v | v << 8) & 0x0300F00FU;
  v = (v | v << 4) & 0x030C30C3U;
  return (v | v << 2) & 0x09249249U;
}

bool bit_of_cell(const Array<uint8_t>& bits, int64_t first_byte, const std::array<int64_t, 3>& cell) {
  const uint32_t at = spread_bits(uint32_t(cell[0])) | spread_bits(uint32_t(cell[1])) << 1 |
                      spread_bits(uint32_t(cell[2])) << 2;
  return (bits[first_byte + int64_t(at >> 3)] >> (at & 7) & 1) != 0;
}

/// Calls visit(cell) for the cells that a point touches, given in units of cells; at most eight, where it lies on a corner.
template <class Visit>
void cells_touched(const std::array<float, 3>& at, int64_t grid, Visit&& visit) {
  constexpr float kTouch = 1e-3F;
  int64_t low[3], high[3];
  for (size_t k = 0; k < 3; ++k) {
    low[k] = std::clamp(int64_t(std::floor(at[k] - kTouch)), int64_t{0}, grid - 1);
    high[k] = std::clamp(int64_t(std::floor(at[k] + kTouch)), int64_t{0}, grid - 1);
  }
  for (int64_t z = low[2]; z <= high[2]; ++z)
    for (int64_t y = low[1]; y <= high[1]; ++y)
      for (int64_t x = low[0]; x <= high[0]; ++x) visit(std::array<int64_t, 3>{x, y, z});
}

/// Evaluates the harmonics up to degree 3 of a direction.
void harmonics_of(Vec3 d, std::array<float, 16>& y) {
  const auto power = [](float v, int by) {
    float p = 1;
    for (; by > 0; --by) p *= v;
    return p;
  };
  y.fill(0);
  for (const HarmonicTerm& t : harmonic_terms())
    y[size_t(t.output)] += float(t.factor) * power(d.x, t.px) * power(d.y, t.py) * power(d.z, t.pz);
}

bool is_in_box(Vec3 p, float side) {
  const float half = 0.5F * side * (1 + 1e-5F);
  return std::abs(p.x - 0.5F) <= half && std::abs(p.y - 0.5F) <= half && std::abs(p.z - 0.5F) <= half;
}

class HashPoints : public FieldPoints {
 public:
  HashPoints(const Model& model, const Plan& plan)
      : model_(model),
        plan_(plan),
        field_(model, plan_, profile_, kAtOnce),
        positions_(3 * kAtOnce),
        directions_(3 * kAtOnce) {}

  void density(const Vec3* points, int64_t n, float* out) override {
    std::vector<int64_t> chosen;
    const auto finish = [&] {
      const auto m = int64_t(chosen.size());
      for (int64_t i = 0; i < m; ++i) put(points[chosen[size_t(i)]], m, i);
      evaluate(m);
      for (int64_t i = 0; i < m; ++i) out[chosen[size_t(i)]] = field_.geometry(m)[i];
      chosen.clear();
    };
    for (int64_t i = 0; i < n; ++i) {
      out[i] = kNoValue;
      if (!is_filled(points[i])) continue;
      chosen.push_back(i);
      if (int64_t(chosen.size()) == kAtOnce) finish();
    }
    if (!chosen.empty()) finish();
  }

  void color(const Vec3* points, const Vec3* directions, int64_t n, Vec3* rgb) override {
    for (int64_t first = 0; first < n; first += kAtOnce) {
      const int64_t m = std::min(kAtOnce, n - first);
      for (int64_t i = 0; i < m; ++i) {
        put(points[first + i], m, i);
        const Vec3 d = model_.placement.in_axes(directions[first + i]);
        directions_[i] = d.x, directions_[m + i] = d.y, directions_[2 * m + i] = d.z;
      }
      evaluate(m);
      field_.color(model_.of(Part::color).data(), directions_.data(), m);
      const float* c = field_.rgb();
      for (int64_t i = 0; i < m; ++i) rgb[first + i] = {c[i], c[m + i], c[2 * m + i]};
    }
  }

 private:
  void put(Vec3 in_grid, int64_t n, int64_t i) {
    const Vec3 p = model_.placement.in_axes(in_grid);
    const float side = model_.placement.side();
    const auto place = [&](float x) { return std::clamp(0.5F + (x - 0.5F) / side, 0.0F, 1.0F); };
    positions_[i] = place(p.x), positions_[n + i] = place(p.y), positions_[2 * n + i] = place(p.z);
  }
  void evaluate(int64_t n) {
    field_.density(model_.of(Part::table).data(), model_.of(Part::density).data(), positions_.data(), n);
  }
  bool is_filled(Vec3 in_grid) const {
    const Vec3 p = model_.placement.in_axes(in_grid);
    if (!is_in_box(p, model_.placement.side())) return false;
    const int64_t grid = model_.config.grid, bytes = grid * grid * grid / 8;
    const float away = std::max({std::abs(p.x - 0.5F), std::abs(p.y - 0.5F), std::abs(p.z - 0.5F)});
    int64_t cascade = 0;
    float width = 1;
    for (; cascade + 1 < model_.placement.cascades && away >= 0.5F * width; ++cascade) width *= 2;
    const auto in_cells = [&](float x) { return ((x - 0.5F) / width + 0.5F) * float(grid); };
    bool filled = false;
    cells_touched({in_cells(p.x), in_cells(p.y), in_cells(p.z)}, grid,
                  [&](const std::array<int64_t, 3>& cell) {
                    filled = filled || bit_of_cell(model_.occupancy, cascade * bytes, cell);
                  });
    return filled;
  }

  const Model& model_;
  Plan plan_;
  Profile profile_;
  Field field_;
  Array<float> positions_, directions_;
};

class VoxelPoints : public FieldPoints {
 public:
  explicit VoxelPoints(const VoxelModel& model)
      : model_(model), graded_(GradedGrid::of(double(model.placement.side()), model.is_graded())) {}

  void density(const Vec3* points, int64_t n, float* out) override {
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; ++i) {
      Cell cell;
      const auto value = [&](int64_t row) { return model_.density[row]; };
      out[i] = find(points[i], cell) ? sum(cell, value, float(model_.config.empty)) : kNoValue;
    }
  }

  void color(const Vec3* points, const Vec3* directions, int64_t n, Vec3* rgb) override {
    const int64_t basis = model_.config.basis();
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; ++i) {
      Cell cell;
      rgb[i] = {0.5F, 0.5F, 0.5F};
      if (!find(points[i], cell)) continue;
      std::array<float, 16> y;
      harmonics_of(directions[i], y);
      float c[3];
      for (int64_t k = 0; k < 3; ++k) {
        const float s = sum(
            cell,
            [&](int64_t row) {
              float at_vertex = 0;
              for (int64_t b = 0; b < basis; ++b)
                at_vertex += y[size_t(b)] * model_.coefficients[(row * 3 + k) * basis + b];
              return at_vertex;
            },
            0);
        c[k] = 1 / (1 + std::exp(-s));
      }
      rgb[i] = {c[0], c[1], c[2]};
    }
  }

 private:
  struct Cell {
    std::array<int64_t, 3> at;
    std::array<float, 3> f;
  };

  /// Finds a filled cell that the point touches, and where in it the point lies.
  bool find(Vec3 p, Cell& out) const {
    const float side = model_.placement.side();
    if (!is_in_box(p, side)) return false;
    const auto place = [&](float x) {
      const float y = x - 0.5F;
      return float(model_.grid) *
             (graded_.even() ? std::clamp(0.5F + y / side, 0.0F, 1.0F) : graded_.place<float>(y));
    };
    const std::array<float, 3> at = {place(p.x), place(p.y), place(p.z)};
    bool found = false;
    cells_touched(at, model_.grid, [&](const std::array<int64_t, 3>& cell) {
      if (found || !bit_of_cell(model_.occupancy, 0, cell)) return;
      found = true;
      out.at = cell;
      for (size_t k = 0; k < 3; ++k) out.f[k] = std::clamp(at[k] - float(cell[k]), 0.0F, 1.0F);
    });
    return found;
  }

  /// Interpolates a value of rows between the corners of a cell; corners without a row have `missing`.
  template <class Value>
  float sum(const Cell& cell, Value&& value, float missing) const {
    const int64_t line = model_.grid + 1;
    float total = 0;
    for (int64_t c = 0; c < 8; ++c) {
      const int64_t x = c & 1, y = c >> 1 & 1, z = c >> 2;
      const float weight = (x != 0 ? cell.f[0] : 1 - cell.f[0]) * (y != 0 ? cell.f[1] : 1 - cell.f[1]) *
                           (z != 0 ? cell.f[2] : 1 - cell.f[2]);
      const int64_t row = model_.links[((cell.at[2] + z) * line + cell.at[1] + y) * line + cell.at[0] + x];
      total += weight * (row < 0 ? missing : value(row));
    }
    return total;
  }

  const VoxelModel& model_;
  GradedGrid graded_;
};

class FrequencyPoints : public FieldPoints {
 public:
  FrequencyPoints(const FrequencyModel& model, const Plan& plan)
      : model_(model),
        plan_(plan),
        most_(model.config.chunk),
        pass_(model.config, most_),
        positions_(size_t(3 * most_)),
        directions_(size_t(3 * most_)) {}

  void density(const Vec3* points, int64_t n, float* out) override {
    const Vec3 any{0, 0, 1};
    for (int64_t first = 0; first < n; first += most_) {
      const int64_t m = std::min(most_, n - first);
      evaluate(points + first, nullptr, any, m);
      for (int64_t i = 0; i < m; ++i)
        out[first + i] = is_in_box(points[first + i], model_.placement.side()) ? pass_.raw()[i] : kNoValue;
    }
  }

  void color(const Vec3* points, const Vec3* directions, int64_t n, Vec3* rgb) override {
    for (int64_t first = 0; first < n; first += most_) {
      const int64_t m = std::min(most_, n - first);
      evaluate(points + first, directions + first, {}, m);
      const float* c = pass_.rgb();
      for (int64_t i = 0; i < m; ++i) rgb[first + i] = {c[i], c[m + i], c[2 * m + i]};
    }
  }

 private:
  void evaluate(const Vec3* points, const Vec3* directions, Vec3 direction, int64_t n) {
    const float scale = 2 / model_.placement.side();
    for (int64_t i = 0; i < n; ++i) {
      const Vec3 p = points[i], d = directions != nullptr ? directions[i] : direction;
      const float at[3] = {p.x, p.y, p.z}, to[3] = {d.x, d.y, d.z};
      for (int64_t k = 0; k < 3; ++k) {
        positions_[size_t(k * n + i)] = std::clamp((at[k] - 0.5F) * scale, -1.0F, 1.0F);
        directions_[size_t(k * n + i)] = to[k];
      }
    }
    const FrequencyNumbers numbers = model_.numbers(model_.config.fine > 0 ? 1 : 0);
    ops_.run("points", plan_, profile_,
             [&](Ops& ops) { pass_.forward(ops, numbers, positions_.data(), directions_.data(), n); });
  }

  const FrequencyModel& model_;
  Plan plan_;
  Profile profile_;
  Memory memory_{cpu_backend()};
  RunOps ops_{memory_};
  int64_t most_;
  FrequencyPass pass_;
  std::vector<float> positions_, directions_;
};

}  // namespace

std::unique_ptr<FieldPoints> field_points(const FieldModel& model, const Plan& plan) {
  if (const Model* hash = model.as_hash()) return std::make_unique<HashPoints>(*hash, plan);
  if (const VoxelModel* voxels = model.as_voxels()) return std::make_unique<VoxelPoints>(*voxels);
  if (const FrequencyModel* frequency = model.as_frequency())
    return std::make_unique<FrequencyPoints>(*frequency, plan);
  return nullptr;
}

}  // namespace klab
