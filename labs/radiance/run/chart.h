// Line chart for a terminal, drawn with Braille dots: two columns and four rows of them in a character.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace klab {

struct ChartOptions {
  int width = 60, height = 6;  // characters of the picture, without its scale; at least 4 and 1
  bool logarithmic = false;    // axis of the values; values that are not positive are left out then
  std::string format = "{:.3g}";
};

/// Draws the values `y` at the rising places `x`; leaves out values that are not finite. Returns `height`
/// lines; the first and the last have the scale at their left. Empty if there is nothing to draw.
std::vector<std::string> chart(std::span<const double> x, std::span<const double> y,
                               const ChartOptions& options);

}  // namespace klab
