#include "harness/report/page.h"

#include <fmt/core.h>

#include <cstdlib>

#include "harness/report/assets.h"
#include "harness/report/html_parts.h"
#include "harness/report/training.h"

namespace klab {

namespace {

/// Aligns numbers in a column; other text goes next to them.
HtmlCell cell_of(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (!text.empty() && *end == 0) return HtmlCell::number(value, text);
  return HtmlCell::text(text, text == "-" ? "n" : "");
}

}  // namespace

void Page::heading(const std::string& text) {
  parts_.emplace_back([text] { return "<h2>" + escaped(text) + "</h2>\n"; });
}

void Page::text(const std::string& paragraph) {
  parts_.emplace_back([paragraph] { return "<p>" + escaped(paragraph) + "</p>\n"; });
}

void Page::table(const std::vector<std::string>& heads, const std::vector<std::vector<std::string>>& rows) {
  HtmlTable table(fmt::format("table{}", parts_.size()), heads);
  for (const auto& row : rows) {
    std::vector<HtmlCell> cells;
    for (const std::string& cell : row) cells.push_back(cell_of(cell));
    table.add(std::move(cells));
  }
  parts_.emplace_back([html = table.html(false)] { return html; });
}

void Page::curves(const std::vector<Curve>& curves, const std::string& x, const std::string& y, bool log_x,
                  bool log_y, const std::string& caption) {
  const std::string key = plots_.curves(curves, x, y, log_x, log_y);
  parts_.emplace_back([this, key, caption] {
    const std::string svg = plots_.svg(key);
    if (svg.empty()) return "<p class=\"note\">" + escaped(caption) + " (not drawn)</p>\n";
    return fmt::format("<figure>{}<figcaption>{}</figcaption></figure>\n", svg, escaped(caption));
  });
}

void Page::drawing(const std::string& svg, const std::string& caption) {
  parts_.emplace_back([svg, caption] {
    return fmt::format("<figure>{}<figcaption>{}</figcaption></figure>\n", svg, escaped(caption));
  });
}

void Page::picture(const std::string& file, int width, const std::string& caption) {
  const TrainingPicture p = embedded_picture(file, width);
  parts_.emplace_back([p, caption] {
    if (p.data.empty()) return "<p class=\"note\">" + escaped(caption) + " (cannot be read)</p>\n";
    return fmt::format(
        "<figure><img src=\"{}\" width=\"{}\" height=\"{}\" "
        "alt=\"{}\"><figcaption>{}</figcaption></figure>\n",
        p.data, p.width, p.height, escaped(caption), escaped(caption));
  });
}

std::string Page::html() {
  const bool drawn = plots_.draw();
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<title>{0}</title>\n<link rel=\"icon\" "
      "href=\"data:,\">\n"
      "<style>\n{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n",
      escaped(title_), report_css());
  if (!drawn && !plots_.error().empty())
    html +=
        fmt::format("<p class=\"note\">There are no plots: gnuplot is not installed or failed ({}).</p>\n",
                    escaped(plots_.error()));
  for (const auto& part : parts_) html += part();
  return html + fmt::format("<script>\n{}</script>\n</body>\n</html>\n", report_js());
}

}  // namespace klab
