#include "labs/learning/experiments/figure.h"

#include <fmt/format.h>

#include <stdexcept>

#include "harness/report/plots.h"

namespace klab::learning {

std::string figure_note(const Experiment& experiment, uint64_t seed) {
  return fmt::format("klab experiment {}, seed {}, edition {}", experiment.name, seed, experiment.edition);
}

std::string figure_of(const Experiment& experiment, const Outcome& o, uint64_t seed) {
  if (o.curves.empty())
    throw std::invalid_argument("--figures: " + experiment.name + " has no curves: leave it out");
  Plots plots;
  const std::string key = plots.curves(o.curves, o.x, o.y, o.log_x, o.log_y);
  if (!plots.draw())
    throw std::runtime_error("--figures: gnuplot is not installed or failed: " + plots.error());
  std::string svg = plots.svg(key);
  // Browsers draw an SVG file without a size as large as the page.
  const size_t box = svg.find("viewBox=\"0 0 ") + 13, between = svg.find(' ', box),
               end = svg.find('"', between);
  svg.insert(end + 1, fmt::format(" width=\"{}\" height=\"{}\"", svg.substr(box, between - box),
                                  svg.substr(between + 1, end - between - 1)));
  // A picture in a lesson does not have the page's text color: these are those of light and of dark pages.
  svg.insert(
      svg.find('>') + 1,
      fmt::format(
          "\n<style>svg{{color:#1f2328}}@media(prefers-color-scheme:dark){{svg{{color:#d1d7e0}}}}</style>"
          "\n<!-- {} -->",
          figure_note(experiment, seed)));
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + svg + "\n";
}

}  // namespace klab::learning
