// The gradients that a pixel adds to the Gaussians of its list, with running errors; shared by gs_rasterize_bwd and
// gs_rasterize_abs_bwd.
#pragma once

#include <array>
#include <vector>

#include "reference/gs_rasterize_bwd/gs_rasterize_bwd.h"
#include "reference/gs_rasterize_fwd/splat.h"

namespace klab {

/// The nine gradients of a Gaussian: mean 2, conic 3, opacity, color 3.
struct RasterSum {
  std::array<double, 9> value{}, error{}, sizes{};  // sizes: of absolute values
  double count = 0;

  /// In a sum of terms one after the other, in any order, each term is rounded with every later one.
  double bound(size_t j) const { return error[j] + count * sizes[j]; }
};

/// Products of small gradients are denormal, so add an error of a few of the smallest steps, relative to
/// 2^-24, however small factors have made the error so far.
inline constexpr double kRasterSteps = 0x1p-122;

/// Computes a pixel's contributions to the Gaussians of its list. An uncertain decision at a pixel makes all
/// its contributions uncertain: their error is then as large as the terms, and as the possible contribution
/// of a Gaussian that was left out.
class RasterPixel {
  using Real = RunningError;

 public:
  RasterPixel(const GsRasterizeBwd::Args<double>& x, int64_t row, int64_t column)
      : x_(x), row_(row), column_(column) {
    const GsRasterizeFwd::Shape& s = x.shape;
    tile_ = row / 16 * s.columns() + column / 16;
    const int64_t plane = s.width * s.height, pixel = row * s.width + column;
    for (size_t c = 0; c < 3; ++c) {
      // A gradient may be denormal: give it an error of a few of the smallest steps.
      h_[c] = Real(x.d_image[int64_t(c) * plane + pixel], 0x1p-120);
      total_ += Real(x.image[int64_t(c) * plane + pixel]) * h_[c];
      bound_ += std::abs(h_[c].value) * std::max(1.0, std::abs(x.image[int64_t(c) * plane + pixel]));
    }
  }

  void add_to(std::vector<RasterSum>& sums) {
    const bool unsure = walk(nullptr, 0);
    walk(&sums, unsure ? 1 / (4 * 0x1p-24) : 0);
  }

 private:
  /// Returns whether a decision was uncertain. With `sums`, adds the contributions, with `uncertainty` units
  /// of error for each unit of a term's bound.
  bool walk(std::vector<RasterSum>* sums, double uncertainty) const {
    const GsRasterizeFwd::Shape& s = x_.shape;
    Real T = 1, taken = 0;
    double doubt = 0;  // relative error of T: uncertain Gaussians may have been used or left out
    bool unsure = false,
         behind = false;  // after the Gaussian at which this pixel may have stopped, and did here
    for (int64_t k = x_.tile_begin[tile_]; k < x_.tile_begin[tile_ + 1]; ++k) {
      const int64_t g = x_.id[k];
      const Splat one = splat(s, x_.mean, x_.conic, x_.opacity, g, double(column_) + 0.5, double(row_) + 0.5);
      unsure = unsure || one.unsure;
      if (one.skipped && !one.unsure) continue;
      if (one.unsure) doubt += 2 * GsRasterizeFwd::least;
      if (behind) {
        blur(one, g, T.value, uncertainty, (*sums)[size_t(g)]);
        continue;
      }
      const Real left = T * (Real(1) - one.alpha);
      const bool may_stop = straddles(left, GsRasterizeFwd::stop) ||
                            std::abs(left.value - GsRasterizeFwd::stop) <= doubt * left.value;
      if (may_stop) unsure = true;
      if (sums != nullptr && uncertainty > 0) blur(one, g, T.value, uncertainty, (*sums)[size_t(g)]);
      if (one.skipped) continue;
      if (left.value < GsRasterizeFwd::stop) {
        behind = sums != nullptr && uncertainty > 0 && may_stop;
        if (!behind) break;
        continue;
      }
      Real shade = 0;
      for (size_t c = 0; c < 3; ++c) shade += Real(x_.color[int64_t(c) * s.n + g]) * h_[c];
      const Real weight = T * one.alpha;
      taken += weight * shade;
      if (sums != nullptr) {
        const Real d_alpha = T * shade - (total_ - taken) / (Real(1) - one.alpha) + Real(0, kRasterSteps);
        const std::array<Real, 9> terms = gradients(one, g, weight, d_alpha);
        RasterSum& sum = (*sums)[size_t(g)];
        for (size_t j = 0; j < 9; ++j) {
          sum.value[j] += terms[j].value;
          sum.error[j] += terms[j].error + kRasterSteps;
          sum.sizes[j] += std::abs(terms[j].value);
        }
        ++sum.count;
      }
      T = left;
    }
    return unsure;
  }

  std::array<Real, 9> gradients(const Splat& one, int64_t g, Real weight, Real d_alpha) const {
    const int64_t n = x_.shape.n;
    std::array<Real, 9> d{};
    for (size_t c = 0; c < 3; ++c) d[6 + c] = weight * h_[c];
    if (one.clamped) return d;
    const Real xx = x_.conic[g], xy = x_.conic[n + g], yy = x_.conic[2 * n + g];
    const Real d_e = one.alpha * d_alpha, half = 0.5;
    d[0] = -(xx * one.dx + xy * one.dy) * d_e;
    d[1] = -(yy * one.dy + xy * one.dx) * d_e;
    d[2] = -half * one.dx * one.dx * d_e;
    d[3] = -one.dx * one.dy * d_e;
    d[4] = -half * one.dy * one.dy * d_e;
    d[5] = one.falloff * d_alpha;
    return d;
  }

  /// Adds the possible contribution of a Gaussian as an error: its weight is at most T.
  void blur(const Splat& one, int64_t g, double T, double uncertainty, RasterSum& sum) const {
    const Real worst(0, uncertainty * 100 * bound_);  // |d_alpha| <= T·|shade| + |behind|/(1 - alpha)
    const std::array<Real, 9> terms = gradients(one, g, Real(0, uncertainty * T), worst);
    for (size_t j = 0; j < 9; ++j) sum.error[j] += terms[j].error;
    // If the clamp at 0.99 is uncertain: add the gradients of the unclamped alpha.
    Splat other = one;
    other.clamped = false;
    const std::array<Real, 9> free = gradients(other, g, Real(0, uncertainty * T), worst);
    for (size_t j = 0; j < 9; ++j) sum.error[j] += free[j].error;
  }

  const GsRasterizeBwd::Args<double>& x_;
  int64_t row_, column_, tile_ = 0;
  std::array<Real, 3> h_{};
  Real total_ = 0;
  double bound_ = 0;
};

/// Returns the sums of all Gaussians.
inline std::vector<RasterSum> raster_sums(const GsRasterizeBwd::Args<double>& x) {
  std::vector<RasterSum> sums(static_cast<size_t>(x.shape.n));
  for (int64_t row = 0; row < x.shape.height; ++row)
    for (int64_t column = 0; column < x.shape.width; ++column) RasterPixel(x, row, column).add_to(sums);
  return sums;
}

/// Writes the gradients, and their errors.
inline void write_gradients(const GsRasterizeBwd::Args<double>& x,
                            const GsRasterizeBwd::Args<double>& magnitude,
                            const std::vector<RasterSum>& sums) {
  const int64_t n = x.shape.n;
  const auto places = [n](const GsRasterizeBwd::Args<double>& a, int64_t g) {
    return std::array{a.d_mean + g,      a.d_mean + n + g,      a.d_conic + g,
                      a.d_conic + n + g, a.d_conic + 2 * n + g, a.d_opacity + g,
                      a.d_color + g,     a.d_color + n + g,     a.d_color + 2 * n + g};
  };
  for (int64_t g = 0; g < n; ++g) {
    const RasterSum& sum = sums[size_t(g)];
    const auto outs = places(x, g), errors = places(magnitude, g);
    for (size_t j = 0; j < 9; ++j) {
      *outs[j] = sum.value[j];
      *errors[j] = sum.bound(j);
    }
  }
}

}  // namespace klab
