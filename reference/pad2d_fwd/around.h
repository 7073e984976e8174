// For the double references of ops that pad by themselves: their pictures with the border of pad2d_fwd written around them.
#pragma once

#include <cmath>
#include <vector>

#include "reference/pad2d_bwd/pad2d_bwd.h"
#include "reference/pad2d_fwd/pad2d_fwd.h"

namespace klab {

/// Pictures of several channels: [n,channel,row,column], or [n,row,column,channel] where channels are last.
struct Pictures {
  PadShape pad;
  int64_t channels;
  bool last;

  /// Copies pictures of h·w pixels to [planes,h,w], or back.
  void turn(int64_t h, int64_t w, const double* from, double* to, bool back) const {
    for (int64_t plane = 0; plane < pad.planes; ++plane)
      for (int64_t pixel = 0; pixel < h * w; ++pixel) {
        const int64_t image = plane / channels, channel = plane - image * channels;
        const int64_t at = last ? (image * h * w + pixel) * channels + channel : plane * h * w + pixel;
        const int64_t in_plane = plane * h * w + pixel;
        to[back ? at : in_plane] = from[back ? in_plane : at];
      }
  }

  /// Returns the pictures with their border, or the magnitudes of both.
  std::vector<double> with_border(const double* x, bool magnitudes) const {
    const auto size = size_t(pad.planes * pad.oh() * pad.ow());
    std::vector<double> planes(size_t(pad.planes * pad.h * pad.w)), values(size), sizes(size);
    turn(pad.h, pad.w, x, planes.data(), false);
    Pad2dFwd::reference({pad, planes.data(), values.data()}, {pad, nullptr, sizes.data()});
    const std::vector<double> all = magnitudes ? sizes : values;
    turn(pad.oh(), pad.ow(), all.data(), values.data(), true);
    return values;
  }

  /// Writes the gradient of the pictures from that of the pictures with their border.
  void collect(const double* d_bordered, double* d_x) const {
    std::vector<double> d_y(size_t(pad.planes * pad.oh() * pad.ow())),
        d_planes(size_t(pad.planes * pad.h * pad.w)), unused(d_planes.size());
    turn(pad.oh(), pad.ow(), d_bordered, d_y.data(), false);
    Pad2dBwd::reference({pad, d_y.data(), d_planes.data()}, {pad, nullptr, unused.data()});
    turn(pad.h, pad.w, d_planes.data(), d_x, true);
  }
};

/// Returns absolute values.
inline std::vector<double> magnitudes_of(const double* x, int64_t count) {
  std::vector<double> all(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) all[size_t(i)] = std::abs(x[i]);
  return all;
}

}  // namespace klab
