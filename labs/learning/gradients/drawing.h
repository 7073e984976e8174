// Draws the trace of a formula as a graph: inputs on the left, results on the right, values and adjoints at the nodes, slopes
// along the edges.
#pragma once

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "labs/learning/gradients/trace.h"

namespace klab::gradients {

/// Returns an SVG image of its own, readable on a light and on a dark page.
inline std::string svg_of(const FormulaTrace& trace) {
  const std::vector<TraceRow>& rows = trace.rows;
  // A node stands one column behind the last of its operands.
  std::vector<size_t> column(rows.size(), 0), line(rows.size(), 0), filled;
  for (size_t i = 0; i < rows.size(); ++i) {
    for (const size_t operand : rows[i].operands) column[i] = std::max(column[i], column[operand] + 1);
    filled.resize(std::max(filled.size(), column[i] + 1));
    line[i] = filled[column[i]]++;
  }
  const size_t most = *std::ranges::max_element(filled);
  constexpr int kDown = 96, kHigh = 58, kEdge = 16;
  // Each further result adds an adjoint to every node.
  const int wide = 112 + 62 * std::max(0, int(trace.results.size()) - 2), across = wide + 58;
  const auto x = [&](size_t i) { return kEdge + int(column[i]) * across; };
  const auto y = [&](size_t i) {
    return kEdge + int((double(most) - double(filled[column[i]])) * kDown / 2) + int(line[i]) * kDown;
  };
  const auto format = [](const char* pattern, auto... values) {
    char buffer[512];
    std::snprintf(buffer, sizeof buffer, pattern, values...);
    return std::string(buffer);
  };
  std::string out = format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" "
      "font-size=\"13\" "
      "role=\"img\" aria-label=\"graph of the expression\">\n",
      int(filled.size() - 1) * across + wide + 2 * kEdge, int(most - 1) * kDown + kHigh + 2 * kEdge);
  std::string boxes;
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t k = 0; k < rows[i].operands.size(); ++k) {
      const size_t from = rows[i].operands[k];
      const int x1 = x(from) + wide, y1 = y(from) + kHigh / 2, x2 = x(i), y2 = y(i) + kHigh / 2;
      out += format(
          "<path d=\"M%d %d C%d %d %d %d %d %d\" fill=\"none\" stroke=\"#8a94a6\" stroke-width=\"1.5\"/>\n",
          x1, y1, x1 + 40, y1, x2 - 40, y2, x2, y2);
      out += format("<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" fill=\"#b45309\">%.4g</text>\n",
                    (x1 + x2) / 2, (y1 + y2) / 2 - 4, rows[i].slopes[k]);
    }
    const bool is_result = std::ranges::any_of(trace.results, [i](const auto& r) { return r.row == i; });
    boxes += format(
        "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"6\" fill=\"%s\" stroke=\"#475569\"/>\n",
        x(i), y(i), wide, kHigh,
        is_result                  ? "#dcfce7"
        : rows[i].operands.empty() ? "#dbeafe"
                                   : "#f1f5f9");
    const auto text = [&](int down, const char* color, const std::string& words) {
      boxes += format("<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" fill=\"%s\">", x(i) + wide / 2,
                      y(i) + down, color) +
               words + "</text>\n";
    };
    text(17, "#0f172a", rows[i].name + " = " + rows[i].formula);
    text(34, "#1d4ed8", format("%.6g", rows[i].value));
    std::string adjoints;
    for (const ReversePass& r : trace.results)
      adjoints +=
          format(adjoints.empty() ? "%.*g" : ", %.*g", trace.results.size() == 1 ? 6 : 4, r.adjoints[i]);
    text(50, "#b91c1c", adjoints);
  }
  return out + boxes + "</svg>\n";
}

}  // namespace klab::gradients
