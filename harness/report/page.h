// A page of plots, tables and pictures in one HTML file, in the report's style. For commands that show more
// than rows.
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
  /// Adds an image that the caller drew, as an <svg> element.
  void drawing(const std::string& svg, const std::string& caption);
  /// Adds a PNG. If it cannot be read, a note replaces it.
  void picture(const std::string& file, int width, const std::string& caption);

  /// Draws the plots and returns the page. Without gnuplot a note replaces the plots.
  std::string html();

 private:
  std::string title_;
  Plots plots_;
  std::vector<std::function<std::string()>> parts_;  // called after the plots are drawn
};

}  // namespace klab
