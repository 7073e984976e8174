// Plots as SVG, drawn by gnuplot: ladders, rooflines, sweeps, curves. They have no background and use the
// page's text color, so they are readable in light and dark mode.
#pragma once

#include <filesystem>
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

/// Collects plots, draws them all with one gnuplot, and returns their SVG.
class Plots {
 public:
  /// Adds bars of every rung's rate with its interval, the ceiling as a line, and the speedup over naive next
  /// to each bar.
  std::string ladder(const LadderView& view);

  /// Adds a roofline (Williams, Waterman, Patterson 2009): rate against FLOP/byte, under the known ceilings.
  std::string roofline(const std::vector<const LadderView*>& views, const nlohmann::json& ceilings);

  /// Adds rate against size, one line per rung.
  std::string sizes(const std::vector<const LadderView*>& views);

  /// Adds curves on the given axes.
  std::string curves(const std::vector<Curve>& curves, const std::string& x, const std::string& y, bool log_x,
                     bool log_y);

  /// Adds curves over runs, whose names stand below the axis: x is a run's number from 1 on.
  std::string over_names(const std::vector<Curve>& curves, const std::vector<std::string>& names,
                         const std::string& y);

  /// Writes each drawn plot to a folder, as SVG that can stand alone, and its numbers as CSV. Returns their number.
  size_t write(const std::filesystem::path& folder) const;

  /// Runs gnuplot. Returns false if it is missing or failed; then every plot is empty.
  bool draw();

  /// Returns gnuplot's message after draw() returned false.
  const std::string& error() const { return error_; }

  /// Returns the SVG of a plot by the key that was returned when it was added.
  std::string svg(const std::string& key) const;

 private:
  /// A plot's file name and its numbers.
  struct Figure {
    std::string name, csv;
  };
  std::string begin(int width, int height, const std::string& name, std::string csv);
  std::vector<std::string> scripts_;
  std::vector<Figure> figures_;
  std::map<std::string, std::string> drawn_;
  std::string error_;
};

}  // namespace klab
