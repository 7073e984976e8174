// A page of plots, tables and pictures in one HTML file, in the style of the report: for commands that have something to
// show besides rows.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/report/plots.h"

namespace klab {

class Page {
 public:
  explicit Page(std::string title) : title_(std::move(title)) {}

  void heading(const std::string& text);
  void text(const std::string& paragraph);
  void table(const std::vector<std::string>& heads, const std::vector<std::vector<std::string>>& rows);
  void curves(const std::vector<Curve>& curves, const std::string& x, const std::string& y, bool log_x,
              bool log_y, const std::string& caption);
  /// A PNG; left out, with a note, where it cannot be read.
  void picture(const std::string& file, int width, const std::string& caption);

  /// Draws the plots (a note stands in their place where gnuplot is missing) and gives the page.
  std::string html();

 private:
  std::string title_;
  Plots plots_;
  std::vector<std::function<std::string()>> parts_;  // called when the plots are drawn
};

}  // namespace klab
