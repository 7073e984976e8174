#include "labs/radiance/field/occupancy.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "harness/program/random.h"

namespace klab {
namespace {

// Every third bit of a Morton index, counted from `axis`, as a number: the inverse of interleaving.
uint32_t coordinate(uint32_t morton, int axis) {
  uint32_t v = morton >> axis & 0x09249249U;
  v = (v | v >> 2) & 0x030C30C3U;
  v = (v | v >> 4) & 0x0300F00FU;
  v = (v | v >> 8) & 0x030000FFU;
  return (v | v >> 16) & 0x3FFU;
}

// Cells a thread takes at a time. Sums are taken block by block, so that they do not depend on the number of threads.
constexpr int64_t kBlock = 1 << 14;

int64_t blocks_of(int64_t cells) { return (cells + kBlock - 1) / kBlock; }

// Those of [0, n) that are wanted, in order.
template <class Wanted>
std::vector<int32_t> select(int64_t n, const Wanted& wanted) {
  std::vector<std::vector<int32_t>> parts(size_t(blocks_of(n)));
#pragma omp parallel for schedule(static)
  for (int64_t b = 0; b < blocks_of(n); ++b)
    for (int64_t i = b * kBlock; i < std::min(n, (b + 1) * kBlock); ++i)
      if (wanted(i)) parts[size_t(b)].push_back(int32_t(i));
  std::vector<int32_t> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

int64_t bits_set(const Array<uint8_t>& bytes) {
  int64_t count = 0;
#pragma omp parallel for schedule(static) reduction(+ : count)
  for (int64_t i = 0; i < bytes.size(); ++i) count += std::popcount(bytes[i]);
  return count;
}

}  // namespace

Occupancy::Occupancy(Model& model, uint64_t seed)
    : model_(model),
      seed_(seed),
      cells_(model.config.grid * model.config.grid * model.config.grid),
      values_(model.placement.cascades * cells_) {}

double Occupancy::leave_out_unseen(const Scene& scene) {
  const auto grid = float(model_.config.grid);
  int64_t unseen = 0;
#pragma omp parallel for schedule(dynamic, 4096) reduction(+ : unseen)
  for (int64_t i = 0; i < values_.size(); ++i) {
    const float size = float(1 << (i / cells_));
    const auto m = uint32_t(i % cells_);
    const auto along = [&](int axis) {
      return 0.5F + size * ((float(coordinate(m, axis)) + 0.5F) / grid - 0.5F);
    };
    const Vec3 center{along(0), along(1), along(2)};
    const float radius = 0.87F * size / grid;  // half the diagonal of a cell
    bool seen = false;
    for (const View& view : scene.train) {
      const Vec3 p = view.camera.project(center);
      if (p.z < -radius) continue;
      const float margin = view.camera.fx * radius / std::max(p.z, radius);
      // A cell that the camera stands in, or that its near side cuts, counts as seen.
      seen = p.z < 2 * radius || (p.x > -margin && p.x < float(view.camera.width) + margin && p.y > -margin &&
                                  p.y < float(view.camera.height) + margin);
      if (seen) break;
    }
    values_[i] = seen ? 0.F : -1.F;
    unseen += !seen;
  }
  return double(unseen) / double(values_.size());
}

void Occupancy::look_at(Field& field, std::span<const int32_t> cells, int64_t step) {
  const Config& c = model_.config;
  const Draws draws(seed_, uint64_t(step), 1);
  const float side = model_.placement.side();
  const float smallest_step = std::sqrt(3.0F) / float(c.steps_per_diagonal);
  if (positions_.size() == 0) positions_ = Array<float>(3 * field.capacity());
  for (size_t begin = 0; begin < cells.size(); begin += size_t(field.capacity())) {
    const int64_t n = std::min<int64_t>(field.capacity(), int64_t(cells.size() - begin));
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; ++i) {
      const int32_t cell = cells[begin + size_t(i)];
      const float size = float(1 << (cell / cells_));
      const auto m = uint32_t(cell % cells_);
      for (int axis = 0; axis < 3; ++axis) {
        const float inside =
            (float(coordinate(m, axis)) + draws.unit(uint64_t(cell) * 3 + uint64_t(axis))) / float(c.grid);
        positions_[axis * n + i] = 0.5F + size * (inside - 0.5F) / side;
      }
    }
    field.density(model_.of(Part::table).data(), model_.of(Part::density).data(), positions_.data(), n);
    const float* raw = field.geometry(n);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; ++i) {
      float& value = values_[cells[begin + size_t(i)]];
      value = std::max(value, std::exp(raw[i]) * smallest_step);
    }
  }
}

void Occupancy::update(Field& field, int64_t step) {
  const Config& c = model_.config;
  std::vector<int32_t> cells;
  if (step < c.grid_warmup) {
    cells = select(values_.size(), [&](int64_t i) { return values_[i] >= 0; });
  } else {
    // A share drawn uniformly, and as many among the occupied.
    const Draws draws(seed_, uint64_t(step), 2);
    const auto threshold = uint64_t(c.grid_fraction * 0x1p32);
    const int64_t occupied = bits_set(model_.occupancy);
    const double want = c.grid_fraction * double(values_.size()) / double(std::max<int64_t>(1, occupied));
    const auto occupied_threshold = uint64_t(std::min(1.0, want) * 0x1p32);
    cells = select(values_.size(), [&](int64_t i) {
      if (!(values_[i] >= 0)) return false;
      const uint64_t bits = draws.bits(uint64_t(i));
      const bool is_occupied = model_.occupancy[i / 8] >> (i % 8) & 1;
      return (bits >> 32) < threshold || (is_occupied && (bits & 0xFFFFFFFFU) < occupied_threshold);
    });
  }
#pragma omp parallel for simd schedule(static)
  for (int64_t i = 0; i < values_.size(); ++i) values_[i] *= values_[i] > 0 ? float(c.grid_decay) : 1.0F;
  look_at(field, cells, step);
  renew_bits();
}

void Occupancy::renew_bits() {
  struct Seen {
    double sum = 0;
    int64_t cells = 0;
  };
  std::vector<Seen> blocks(size_t(blocks_of(values_.size())));
#pragma omp parallel for schedule(static)
  for (int64_t b = 0; b < int64_t(blocks.size()); ++b) {
    Seen block;
    for (int64_t i = b * kBlock; i < std::min(values_.size(), (b + 1) * kBlock); ++i) {
      if (!(values_[i] >= 0)) continue;
      block.sum += std::min(values_[i], 1e4F);  // an exploded cell must not lift the mean over all others
      ++block.cells;
    }
    blocks[size_t(b)] = block;
  }
  Seen all;
  for (const Seen& block : blocks) all = {all.sum + block.sum, all.cells + block.cells};
  const double mean = all.cells ? all.sum / double(all.cells) : 0;
  const auto threshold = float(std::min(model_.config.grid_threshold, mean));
#pragma omp parallel for schedule(static)
  for (int64_t b = 0; b < model_.occupancy.size(); ++b) {
    unsigned byte = 0;
    for (int64_t bit = 0; bit < 8; ++bit) byte |= unsigned(values_[b * 8 + bit] > threshold) << bit;
    model_.occupancy[b] = uint8_t(byte);
  }
}

double Occupancy::occupied_share() const {
  return double(bits_set(model_.occupancy)) / double(values_.size());
}

}  // namespace klab
