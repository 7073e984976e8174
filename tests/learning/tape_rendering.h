// Forwards written on a tape: the operations of a radiance field. Sums along rays are products with a matrix
// of zeros and ones that tells which sample belongs to which ray, or lies in front of which.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "reference/gs_antialias_fwd/gs_antialias_fwd.h"
#include "reference/hashgrid_fwd/hashgrid_fwd.h"
#include "reference/hashtable_fwd/hashtable_fwd.h"
#include "reference/hashtable_fwd/table_layout.h"
#include "reference/opacity_binary_entropy_fwd/opacity_binary_entropy_fwd.h"
#include "reference/opacity_entropy_fwd/opacity_entropy_fwd.h"
#include "reference/pixel_loss_fwd/pixel_loss_fwd.h"
#include "tests/learning/tape_network.h"

namespace klab::gradients {

/// Samples of rays, as matrices.
struct Rays {
  int64_t rays, samples;
  std::vector<int64_t> of;  // the ray of each sample

  Rays(int64_t r, int64_t s, const std::vector<double>& ray_begin) : rays(r), samples(s) {
    for (int64_t ray = 0; ray < r; ++ray)
      for (auto i = int64_t(ray_begin[size_t(ray)]); i < int64_t(ray_begin[size_t(ray) + 1]); ++i)
        of.push_back(ray);
  }
  /// Returns a [rows,samples] matrix of `at`, row by row.
  static Tape::Value matrix(Tape& t, int64_t rows, int64_t samples, auto&& at) {
    std::vector<double> m;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < samples; ++j) m.push_back(at(size_t(i), size_t(j)));
    return t.input({rows, samples}, m);
  }
  /// [rays] from [samples].
  Tape::Value sum(Tape& t, Tape::Value a) const {
    const Tape::Value m =
        matrix(t, rays, samples, [&](size_t r, size_t j) { return of[j] == int64_t(r) ? 1.0 : 0.0; });
    return t.reshape(t.matmul(m, t.reshape(a, {samples, 1})), {rays});
  }
  /// For each sample the sum over those in front of it, [samples].
  Tape::Value in_front(Tape& t, Tape::Value a) const {
    const Tape::Value m =
        matrix(t, samples, samples, [&](size_t i, size_t j) { return of[i] == of[j] && j < i ? 1.0 : 0.0; });
    return t.reshape(t.matmul(m, t.reshape(a, {samples, 1})), {samples});
  }
};

/// Optical depths [samples], and the weights T_i - T_{i+1}.
struct Weighed {
  Tape::Value tau, weights;
};
inline Weighed weigh(Tape& t, const Rays& rays, const Values& v) {
  const Tape::Value tau = t.multiply(t.exp(v.at("density_raw")), v.at("delta")),
                    front = rays.in_front(t, tau);
  const auto through = [&](Tape::Value depth) { return t.exp(t.scale(depth, -1)); };
  return {tau, t.subtract(through(front), through(t.add(front, tau)))};
}

/// Rows of a [3,n] tensor.
inline Tape::Value row_of(Tape& t, Tape::Value a, int64_t row, int64_t n) {
  std::vector<int64_t> from;
  for (int64_t i = 0; i < n; ++i) from.push_back(row * n + i);
  return t.gather(a, {n}, from);
}
/// Three rows [n] as [3,n].
inline Tape::Value three_rows(Tape& t, const std::vector<Tape::Value>& rows, int64_t n) {
  Tape::Value all = t.input({3, n}, std::vector<double>(size_t(3 * n)));
  for (int64_t r = 0; r < 3; ++r) {
    std::vector<int64_t> to(size_t(3 * n), -1);
    for (int64_t i = 0; i < n; ++i) to[size_t(r * n + i)] = i;
    all = t.add(all, t.gather(rows[size_t(r)], {3, n}, to));
  }
  return all;
}

inline Tape::Value color_of(Tape& t, const Rays& rays, const Values& v, const Weighed& w) {
  const Tape::Value left = t.exp(t.scale(rays.sum(t, w.tau), -1));
  std::vector<Tape::Value> color;
  for (int64_t c = 0; c < 3; ++c)
    color.push_back(t.add(rays.sum(t, t.multiply(w.weights, row_of(t, v.at("rgb"), c, rays.samples))),
                          t.multiply(left, row_of(t, v.at("background"), c, rays.rays))));
  return three_rows(t, color, rays.rays);
}

/// The mean over channels of l(prediction - target), [n].
inline Tape::Value pixel_loss(Tape& t, Tape::Value prediction, Tape::Value target, int64_t n, int64_t kind) {
  const Tape::Value e = t.subtract(prediction, target);
  const auto d = double(PixelLossFwd::turn(kind));
  const Tape::Value l =
      kind == 0 ? square(t, e)
                : t.map(
                      e, [d](double x) { return std::abs(x) <= d ? x * x / 2 : d * (std::abs(x) - d / 2); },
                      [d](double x, double) { return std::abs(x) <= d ? x : std::copysign(d, x); });
  Tape::Value sum = row_of(t, l, 0, n);
  for (const int64_t c : {1, 2}) sum = t.add(sum, row_of(t, l, c, n));
  return t.scale(sum, 1.0 / 3);
}

inline void add_losses(std::vector<Case>& list) {
  static constexpr double kLow = OpacityBinaryEntropyFwd::low, kHigh = OpacityBinaryEntropyFwd::high;
  for (const int64_t kind : {0, 1, 2})
    list.push_back({"pixel_loss_bwd", {20, kind}, [kind](Tape& t, const Values& v, const Numbers&) -> Values {
                      return {{"loss", pixel_loss(t, v.at("prediction"), v.at("target"), 20, kind)}};
                    }});
  list.push_back({"opacity_entropy_bwd", {30}, [](Tape& t, const Values& v, const Numbers&) -> Values {
                    const Tape::Value o = v.at("opacity");
                    const Tape::Value a = t.add(o, constant_like(t, o, OpacityEntropyFwd::floor));
                    return {{"loss", t.scale(t.multiply(a, t.log(a)), -1)}};
                  }});
  list.push_back({"opacity_binary_entropy_bwd", {30}, [](Tape& t, const Values& v, const Numbers&) -> Values {
                    const Tape::Value o = t.map(
                        v.at("opacity"), [](double x) { return std::clamp(x, kLow, kHigh); },
                        [](double x, double) { return x < kLow || x > kHigh ? 0.0 : 1.0; });
                    const Tape::Value rest = t.subtract(constant_like(t, o, 1), o);
                    const Tape::Value sum = t.add(t.multiply(o, t.log(o)), t.multiply(rest, t.log(rest)));
                    return {{"loss", t.scale(sum, -1)}};
                  }});
  list.push_back({"depth_loss_bwd", {30}, [](Tape& t, const Values& v, const Numbers& given) -> Values {
                    std::vector<double> known;
                    for (const double truth : given.at("truth")) known.push_back(truth > 0 ? 0.5 : 0);
                    const Tape::Value e = t.subtract(v.at("depth"), v.at("truth"));
                    return {{"loss", t.multiply(square(t, e), t.input({30}, known))}};
                  }});
  list.push_back({"depth_l1_bwd", {30}, [](Tape& t, const Values& v, const Numbers& given) -> Values {
                    std::vector<double> known;
                    for (const double truth : given.at("truth")) known.push_back(truth > 0 ? 1 : 0);
                    const Tape::Value e = t.subtract(v.at("depth"), v.at("truth"));
                    const Tape::Value l = t.map(
                        e, [](double x) { return std::abs(x); },
                        [](double x, double) { return double(x > 0) - double(x < 0); });
                    return {{"loss", t.multiply(l, t.input({30}, known))}};
                  }});
  list.push_back({"total_variation_bwd", {25}, [](Tape& t, const Values& v, const Numbers&) -> Values {
                    Tape::Value loss = constant_like(t, row_of(t, v.at("raw"), 0, 25), 0);
                    for (const int64_t m : {1, 2, 3})
                      loss = t.add(loss, square(t, t.subtract(row_of(t, v.at("raw"), m, 25),
                                                              row_of(t, v.at("raw"), 0, 25))));
                    return {{"loss", loss}};
                  }});
}

inline void add_gaussians(std::vector<Case>& list) {
  constexpr int64_t n = 30;
  list.push_back({"gs_antialias_bwd", {n}, [](Tape& t, const Values& v, const Numbers&) -> Values {
                    const auto scaled = [&](int64_t row) {
                      return t.scale(row_of(t, v.at("conic"), row, n), GsAntialiasFwd::blur);
                    };
                    const Tape::Value one = constant_like(t, scaled(0), 1);
                    const Tape::Value q =
                        t.subtract(t.multiply(t.subtract(one, scaled(0)), t.subtract(one, scaled(2))),
                                   square(t, scaled(1)));
                    const Tape::Value factor = t.map(
                        q, [](double x) { return std::sqrt(std::max(x, GsAntialiasFwd::least)); },
                        [](double x, double y) { return x > GsAntialiasFwd::least ? 0.5 / y : 0; });
                    return {{"shown", t.multiply(v.at("opacity"), factor)}};
                  }});
}

inline void add_rays(std::vector<Case>& list) {
  constexpr int64_t kRays = 7, kSamples = 40;
  const auto rays_of = [](const Numbers& given) { return Rays(kRays, kSamples, given.at("ray_begin")); };
  // Variants may stop a ray where a ten-thousandth of its light is left.
  list.push_back({"composite_bwd",
                  {kRays, kSamples},
                  [=](Tape& t, const Values& v, const Numbers& given) -> Values {
                    const Rays rays = rays_of(given);
                    const Weighed w = weigh(t, rays, v);
                    return {{"color", color_of(t, rays, v, w)},
                            {"opacity", rays.sum(t, w.weights)},
                            {"depth", rays.sum(t, t.multiply(w.weights, v.at("t")))}};
                  },
                  1e-3});
  for (const int64_t kind : {0, 1, 2})
    list.push_back({"composite_loss_bwd",
                    {kRays, kSamples, kind},
                    [=](Tape& t, const Values& v, const Numbers& given) -> Values {
                      const Rays rays = rays_of(given);
                      const Tape::Value color = color_of(t, rays, v, weigh(t, rays, v));
                      return {{"loss", pixel_loss(t, color, v.at("target"), kRays, kind)}};
                    },
                    1e-3});
  list.push_back({"sample_weights_bwd",
                  {kRays, kSamples},
                  [=](Tape& t, const Values& v, const Numbers& given) -> Values {
                    return {{"weights", weigh(t, rays_of(given), v).weights}};
                  }});
  list.push_back(
      {"distortion_bwd", {kRays, kSamples}, [=](Tape& t, const Values& v, const Numbers& given) -> Values {
         const Rays rays = rays_of(given);
         const std::vector<double>& at = given.at("t");
         const Tape::Value apart = Rays::matrix(t, kSamples, kSamples, [&](size_t i, size_t j) {
           return rays.of[i] == rays.of[j] ? std::abs(at[i] - at[j]) : 0.0;
         });
         const Tape::Value w = v.at("weights");
         const Tape::Value others = t.reshape(t.matmul(apart, t.reshape(w, {kSamples, 1})), {kSamples});
         return {{"loss", t.add(rays.sum(t, t.multiply(w, others)),
                                t.scale(rays.sum(t, t.multiply(square(t, w), v.at("delta"))), 1.0 / 3))}};
       }});
}

/// Where a level's grid lies, and the entry of its point.
struct TableGrid {
  double scale;
  std::function<int64_t(const int64_t* at)> entry;
};

/// The table's entries, gathered corner by corner and weighted: linearly between the points of each level's grid.
inline Tape::Value looked_up(Tape& t, const std::vector<TableGrid>& levels, int64_t dim, int64_t features,
                             Tape::Value table, const std::vector<double>& positions) {
  const auto rows = int64_t(levels.size()) * features, n = int64_t(positions.size()) / dim;
  Tape::Value sum = t.input({rows, n}, std::vector<double>(size_t(rows * n)));
  for (int64_t corner = 0; corner < int64_t{1} << dim; ++corner) {
    std::vector<int64_t> from;
    std::vector<double> weights;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = 0; i < n; ++i) {
        const TableGrid& level = levels[size_t(row / features)];
        int64_t at[3] = {};
        double weight = 1;
        for (int64_t d = 0; d < dim; ++d) {
          const double p = positions[size_t(d * n + i)] * level.scale + 0.5, low = std::floor(p);
          const bool upper = (corner >> d & 1) != 0;
          at[d] = int64_t(low) + (upper ? 1 : 0);
          weight *= upper ? p - low : 1 - (p - low);
        }
        from.push_back(level.entry(at) * features + row % features);
        weights.push_back(weight);
      }
    sum = t.add(sum, t.multiply(t.gather(table, {rows, n}, from), t.input({rows, n}, weights)));
  }
  return sum;
}

inline std::vector<TableGrid> grids_of(const HashgridShape& s) {
  std::vector<TableGrid> grids;
  for (const HashgridLevel& level : hashgrid_levels(s))
    grids.push_back({double(level.scale), [level, dim = s.dim](const int64_t* at) {
                       return level.offset + hashgrid_index(level, dim, at);
                     }});
  return grids;
}

/// Grids of levels that are data.
inline std::vector<TableGrid> grids_of(const HashtableShape& s, const Numbers& given) {
  const std::vector<float> scales(given.at("scales").begin(), given.at("scales").end());
  const std::vector<int64_t> sizes(given.at("sizes").begin(), given.at("sizes").end());
  std::vector<TableGrid> grids;
  for (const TableLevel& level : table_levels(s.levels, scales.data(), sizes.data()))
    grids.push_back({double(level.scale), [level, hash = s.hash](const int64_t* at) {
                       return level.offset + int64_t(table_index(level, hash, uint32_t(at[0]),
                                                                 uint32_t(at[1]), uint32_t(at[2])));
                     }});
  return grids;
}

/// The ops of a radiance field.
inline std::vector<Case> rendering_cases() {
  std::vector<Case> list;
  add_losses(list);
  add_gaussians(list);
  add_rays(list);
  list.push_back({"frequency_bwd", {9, 2, 3}, [](Tape& t, const Values& v, const Numbers&) -> Values {
                    constexpr int64_t n = 9, octaves = 3, rows = 2 * octaves * 2;
                    Tape::Value all = t.input({rows, n}, std::vector<double>(size_t(rows * n)));
                    for (int64_t row = 0; row < rows; ++row) {
                      const Tape::Value angle = t.scale(row_of(t, v.at("positions"), row / 2 / octaves, n),
                                                        std::exp2(double(row / 2 % octaves)) * M_PI);
                      const Tape::Value one = row % 2 == 0
                                                  ? t.sin(angle)
                                                  : t.map(
                                                        angle, [](double x) { return std::cos(x); },
                                                        [](double x, double) { return -std::sin(x); });
                      std::vector<int64_t> to(size_t(rows * n), -1);
                      for (int64_t i = 0; i < n; ++i) to[size_t(row * n + i)] = i;
                      all = t.add(all, t.gather(one, {rows, n}, to));
                    }
                    return {{"features", all}};
                  }});
  const HashgridShape grid = {
      .n = 20, .dim = 3, .levels = 3, .features = 2, .log2_table = 6, .base = 3, .finest = 9};
  list.push_back({"hashgrid_bwd",
                  {grid.n, grid.dim, grid.levels, grid.features, grid.log2_table, grid.base, grid.finest, 0},
                  [grid](Tape& t, const Values&, const Numbers& given) -> Values {
                    const int64_t entries = hashgrid_entries(hashgrid_levels(grid));
                    const Tape::Value table = t.input({entries, grid.features},
                                                      std::vector<double>(size_t(entries * grid.features)));
                    return {{"features", looked_up(t, grids_of(grid), grid.dim, grid.features, table,
                                                   given.at("positions"))},
                            {"table", table}};
                  }});
  for (const int64_t hash : {table_hash::primes, table_hash::pcg}) {
    const HashtableShape s = {
        .n = 20, .levels = 3, .features = 2, .entries = 240, .hash = hash, .blend = table_blend::linear};
    list.push_back({"hashtable_bwd",
                    {s.n, s.levels, s.features, s.entries, s.hash, s.blend, s.coherent},
                    [s](Tape& t, const Values&, const Numbers& given) -> Values {
                      const Tape::Value table = t.input({s.entries, s.features},
                                                        std::vector<double>(size_t(s.entries * s.features)));
                      return {{"features",
                               looked_up(t, grids_of(s, given), 3, s.features, table, given.at("positions"))},
                              {"table", table}};
                    }});
  }
  return list;
}

}  // namespace klab::gradients
