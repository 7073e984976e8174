// Experiment loads: counts what kernels load, and compares it with the formulas of labs 02 and 05. Nothing is timed.
//
// On the processor, the loops of a tiled product run on elements that note each load (Cell). The notes are counted for register
// tiles; for cache tiles they are the address trace of a simulated cache. On CUDA, the host executor counts the rungs themselves.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "harness/simt/host_bind.h"
#include "harness/simt/profile.h"
#include "harness/simt/session.h"
#include "labs/learning/experiments/experiment.h"
#include "labs/radiance/run/lru.h"

namespace klab::learning::loads_experiment {
namespace {

const Claim kRegisters{.id = "loads.register_tile",
                       .said = "a product with register tiles of v₁ × v₂ loads n³/v₁ + n³/v₂ numbers",
                       .source = "course",
                       .metric = "loads counted over the formula, n = 64",
                       .rule = between(1, 1),
                       .kind = ClaimKind::exact};
const Claim kCache{.id = "loads.cache_tile",
                   .said = "a product by blocks of b₁ rows that stay in a cache loads n² + n³/b₁ numbers",
                   .source = "course",
                   .metric = "misses of a least-recently-used cache over the formula, n = 64",
                   .rule = between(0.99, 1.01),
                   .kind = ClaimKind::exact,
                   .on = "the size of the cache"};
const Claim kGlobal{.id = "loads.block_tile",
                    .said = "on a GPU, blocks with tiles of L × L load 2n³/L numbers from global memory",
                    .source = "course",
                    .metric = "loads counted over the formula, n = 128",
                    .rule = between(1, 1),
                    .kind = ClaimKind::exact};
const Claim kShared{.id = "loads.thread_tile",
                    .said = "on a GPU, threads with tiles of V × V load 2n³/V numbers from shared memory",
                    .source = "course",
                    .metric = "loads counted over the formula, n = 128",
                    .rule = between(1, 1),
                    .kind = ClaimKind::exact};
const Claim kWindows{.id = "loads.windows",
                     .said = "windows of radius 3 over 8192 numbers take 57,344 loads without shared memory",
                     .source = "course",
                     .metric = "loads from global memory",
                     .rule = between(57344, 57344),
                     .kind = ClaimKind::exact,
                     .on = "what is counted"};
const Claim kWindowTile{.id = "loads.window_tile",
                        .said = "windows of radius 3 over 8192 numbers take 9,216 loads with a tile a block",
                        .source = "course",
                        .metric = "loads from global memory",
                        .rule = between(9216, 9216),
                        .kind = ClaimKind::exact,
                        .on = "what is counted"};

constexpr int64_t kSide = 64;  // of the matrices on the processor

/// The loads of one product, as addresses in order.
using Trace = std::vector<uint32_t>;

/// A number in memory. Its value can only be had by a conversion, which notes the load.
struct Cell {
  double value = 0;
  uint32_t address = 0;
  Trace* trace = nullptr;
  operator double() const {  // NOLINT(google-explicit-constructor): a load looks like a load of a double
    trace->push_back(address);
    return value;
  }
};

/// Two square matrices, the second transposed, whose loads are noted.
struct Factors {
  explicit Factors(int64_t side) : n(side), a(size_t(side * side)), b(size_t(side * side)) {
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] = {double(i * 7 % 11) - 5, uint32_t(i), &trace};
      b[i] = {double(i * 5 % 13) - 6, uint32_t(a.size() + i), &trace};
    }
  }
  int64_t n;
  std::vector<Cell> a, b;
  Trace trace;
};

struct Tiles {
  int64_t rows, columns;              // of a register tile
  int64_t block_rows, block_columns;  // of a cache tile
};

/// Computes C = A·Bᵀ as matmul.cpu.03_register_tile and 04_cache_tile go about it: blocks, and in each of them tiles whose sums
/// stay in registers. Tiles at an edge have fewer rows and columns.
std::vector<double> product(const Factors& f, const Tiles& t) {
  const int64_t n = f.n;
  std::vector<double> c(size_t(n * n)), sums(size_t(t.rows * t.columns)), row(size_t(t.rows));
  const auto tile = [&](int64_t i0, int64_t i1, int64_t j0, int64_t j1) {
    std::ranges::fill(sums, 0);
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t i = i0; i < i1; ++i) row[size_t(i - i0)] = f.a[size_t(i * n + p)];
      for (int64_t j = j0; j < j1; ++j) {
        const double of_b = f.b[size_t(j * n + p)];
        for (int64_t i = i0; i < i1; ++i)
          sums[size_t((i - i0) * t.columns + j - j0)] += row[size_t(i - i0)] * of_b;
      }
    }
    for (int64_t i = i0; i < i1; ++i)
      for (int64_t j = j0; j < j1; ++j) c[size_t(i * n + j)] = sums[size_t((i - i0) * t.columns + j - j0)];
  };
  for (int64_t ib = 0; ib < n; ib += t.block_rows)
    for (int64_t jb = 0; jb < n; jb += t.block_columns) {
      const int64_t down = std::min(ib + t.block_rows, n), across = std::min(jb + t.block_columns, n);
      for (int64_t i = ib; i < down; i += t.rows)
        for (int64_t j = jb; j < across; j += t.columns)
          tile(i, std::min(i + t.rows, down), j, std::min(j + t.columns, across));
    }
  return c;
}

/// Returns the loads of that product. Throws std::logic_error if its results are not those of the definition: loads of a product
/// that is wrong would say nothing.
Trace loads_of(int64_t n, const Tiles& t) {
  Factors f(n);
  const std::vector<double> c = product(f, t);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < n; ++p) sum += f.a[size_t(i * n + p)].value * f.b[size_t(j * n + p)].value;
      if (sum != c[size_t(i * n + j)]) throw std::logic_error("loads: the tiled product is wrong");
    }
  return f.trace;
}

void register_tiles(Outcome& out) {
  std::vector<double> ratios;
  const auto ratio_at = [&](int64_t n, int64_t v1, int64_t v2) {
    const auto cube = double(n * n * n);
    const double loads = double(loads_of(n, {v1, v2, n, n}).size()),
                 formula = cube / double(v1) + cube / double(v2);
    out.rows.push_back({fmt::format("register tile {} × {}, n = {}", v1, v2, n), fmt::format("{:.0f}", loads),
                        fmt::format("{:.0f}", formula), fmt::format("{:.4f}", loads / formula)});
    return loads / formula;
  };
  for (const auto& [v1, v2] : {std::pair(1, 1), {2, 2}, {4, 4}, {4, 8}, {8, 8}})
    ratios.push_back(ratio_at(kSide, v1, v2));
  const double edges = ratio_at(kSide + 1, 4, 8);
  const auto [least, most] = std::ranges::minmax(ratios);
  const double off = std::abs(least - 1) > std::abs(most - 1) ? least : most;
  out.decided.push_back(decide(
      kRegisters, off,
      fmt::format(
          "five tiles from 1 × 1 to 8 × 8 load what the formula says; with n = {}, which they do not divide, "
          "tiles of 4 × 8 load {:.2f} times as much",
          kSide + 1, edges)));
}

void cache_tiles(Outcome& out) {
  const int64_t n = kSide, b1 = 8, b2 = 8;
  const Trace trace = loads_of(n, {2, 2, b1, b2});
  const double formula = double(n * n) + double(n * n * n) / double(b1);
  std::vector<int64_t> sizes = {(b1 + b2) * n, (b1 + 2 * b2) * n, 2 * n * n};
  for (int64_t places = 16; places <= 2 * n * n; places = places * 5 / 4) sizes.push_back(places);
  std::ranges::sort(sizes.begin() + 3, sizes.end());
  const std::vector<double> hits = lru_hit_shares(trace, sizes);
  const auto misses = [&](size_t k) { return (1 - hits[k]) * double(trace.size()); };
  Curve missed{"misses", {}}, predicted{"n² + n³/b₁", {}};
  for (size_t k = 3; k < sizes.size(); ++k) {
    missed.points.emplace_back(sizes[k], misses(k));
    predicted.points.emplace_back(sizes[k], formula);
  }
  out.curves = {missed, predicted};
  const char* const names[] = {"the block of A and one of B", "the block of A and two of B", "both matrices"};
  std::vector<ClaimRow> rows;
  for (size_t k = 0; k < 3; ++k) {
    rows.push_back({names[k], {misses(k) / formula}});
    out.rows.push_back({fmt::format("cache tile {} × {}, n = {}, room for {}", b1, b2, n, names[k]),
                        fmt::format("{:.0f}", misses(k)), fmt::format("{:.0f}", formula),
                        fmt::format("{:.4f}", misses(k) / formula)});
  }
  out.decided.push_back(decide(
      kCache, rows,
      fmt::format("room for a block of A and two of B, {} numbers, misses just that often; where one block "
                  "of B fits, "
                  "the next one drives out rows of A that are needed again, {:.2f} times as many misses",
                  sizes[1], rows[0].values[0])));
}

/// Loads of a CUDA rung on the host executor, in numbers of four bytes.
struct Counted {
  double warps = 0;  // 32 for each request of a warp
  double lanes = 0;  // for lanes that load
};
struct Loads {
  Counted global, shared;
};
Loads loads_of_rung(const std::string& id, const std::vector<int64_t>& shape,
                    const std::vector<void*>& pointers) {
  simt::Session session({.traced = true});
  simt::host_bind(id, shape, pointers)();
  Loads loads;
  for (const simt::Site& site : session.profile().sites()) {
    if (site.write) continue;
    Counted& c = site.space == simt::Space::shared ? loads.shared : loads.global;
    c.lanes += double(site.counts.bytes) / 4;
    c.warps += 32.0 * double(site.counts.requests) * std::max(1.0, double(site.width) / 4);
  }
  return loads;
}

void gpu_tiles(Outcome& out) {
  constexpr int64_t n = 128;
  const double cube = double(n) * n * n;
  std::vector<float> a(size_t(n * n), 1), b(size_t(n * n), 1), c(size_t(n * n));
  struct Rung {
    const char* name;
    double block, thread;  // L and V
  };
  double global = 1, shared = 1;
  for (const Rung& r : {Rung{"03_shared_tile", 32, 1}, {"05_register_tile_2d", 128, 8}}) {
    const Loads l =
        loads_of_rung(fmt::format("matmul.cuda.{}", r.name), {n, n, n}, {a.data(), b.data(), c.data()});
    for (const float v : c)
      if (v != float(n)) throw std::logic_error("loads: the product on the executor is wrong");
    const auto over = [&](const char* memory, double counted, double side, double& off) {
      const double formula = 2 * cube / side, ratio = counted / formula;
      if (std::abs(ratio - 1) > std::abs(off - 1)) off = ratio;
      out.rows.push_back({fmt::format("matmul.cuda.{}, {} memory, n = {}", r.name, memory, n),
                          fmt::format("{:.0f}", counted), fmt::format("{:.0f}", formula),
                          fmt::format("{:.4f}", ratio)});
    };
    over("global", l.global.lanes, r.block, global);
    over("shared", l.shared.lanes, r.thread, shared);
  }
  const char* const rungs =
      "matmul.cuda.03_shared_tile with L = 32, V = 1 and 05_register_tile_2d with L = 128, V = 8";
  out.decided.push_back(decide(kGlobal, global, fmt::format("{}, counted by the host executor", rungs)));
  out.decided.push_back(decide(kShared, shared, fmt::format("{}, counted by the host executor", rungs)));
}

void windows(Outcome& out) {
  constexpr int64_t n = 8192, r = 3;
  std::vector<float> x(n, 1), y(n, 0);
  const auto decide_one = [&](const Claim& claim, const char* rung, const char* because) {
    const Counted c =
        loads_of_rung(fmt::format("window_sum.cuda.{}", rung), {n, r}, {x.data(), y.data()}).global;
    for (const auto& [what, loads] : {std::pair("whole warps", c.warps), {"lanes that load", c.lanes}})
      out.rows.push_back({fmt::format("window_sum.cuda.{}, {}", rung, what), fmt::format("{:.0f}", loads),
                          fmt::format("{:.0f}", claim.rule.least),
                          fmt::format("{:.4f}", loads / claim.rule.least)});
    out.decided.push_back(decide(
        claim, {{"whole warps", {c.warps}}, {"lanes that load", {c.lanes}}},
        fmt::format("{:.0f} by whole warps and {:.0f} by lanes that load: {}", c.warps, c.lanes, because)));
  };
  decide_one(kWindows, "01_global", "windows at both ends are shorter, by 12 numbers together");
  decide_one(kWindowTile, "02_shared_tile",
             "a block of 256 needs 262 numbers, 8384 in 32 blocks, and 6 of them lie beyond the ends; its "
             "halo takes a warp "
             "of which few lanes load");
}

Outcome run(uint64_t) {
  Outcome out{.heads = {"kernel", "loads", "formula", "ratio"},
              .x = "numbers that the cache holds",
              .y = "loads from memory",
              .log_x = true,
              .log_y = true};
  register_tiles(out);
  cache_tiles(out);
  gpu_tiles(out);
  windows(out);
  return out;
}

const ExperimentRegistrar registrar({"loads",
                                     "Loads of tiled kernels, counted, against their formulas",
                                     run,
                                     nullptr,
                                     {kRegisters, kCache, kGlobal, kShared, kWindows, kWindowTile}});

}  // namespace
}  // namespace klab::learning::loads_experiment
