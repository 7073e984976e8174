// A line of numbers over time in a terminal, drawn with Braille dots: two columns and four rows of them to a character.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace klab {

struct ChartOptions {
  int width = 60, height = 6;  // characters of the picture, without its scale; at least 4 and 1
  bool logarithmic = false;    // the values' axis; values that are not positive are left out then
  std::string format = "{:.3g}";
};

/// The values `y` at the places `x`, which rise; those that are not finite are left out. `height` lines, each with the scale at
/// its left on the first and on the last of them. Empty where there is nothing to draw.
std::vector<std::string> chart(std::span<const double> x, std::span<const double> y,
                               const ChartOptions& options);

}  // namespace klab
