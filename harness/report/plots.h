// Plots as SVG, by gnuplot: ladders, rooflines, sweeps, curves. They carry no background and draw their text in the
// color of the page's text, so that they read in light and in dark.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "harness/report/ladder_view.h"

namespace klab {

/// A line of a plot.
struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

/// Collects plots, draws them all with one gnuplot, hands out their SVG.
class Plots {
 public:
  /// Bars of the rate of every rung with its interval; the ceiling as a line; the speedup over naive beside it.
  std::string ladder(const LadderView& view);

  /// Williams, Waterman, Patterson 2009: rate against FLOP/byte, under the ceilings that are known.
  std::string roofline(const std::vector<const LadderView*>& views, const nlohmann::json& ceilings);

  /// Rate against size, a line a rung.
  std::string sizes(const std::vector<const LadderView*>& views);

  /// Any curves on given axes.
  std::string curves(const std::vector<Curve>& curves, const std::string& x, const std::string& y, bool log_x,
                     bool log_y);

  /// Runs gnuplot. False when there is none or it failed; then every plot is empty.
  bool draw();

  /// What gnuplot said when draw() was false.
  const std::string& error() const { return error_; }

  /// The SVG of a plot by the key that its maker returned.
  std::string svg(const std::string& key) const;

 private:
  std::string begin(int width, int height);
  std::vector<std::string> scripts_;
  std::map<std::string, std::string> drawn_;
  std::string error_;
};

}  // namespace klab
