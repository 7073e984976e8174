#include "harness/cli/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "harness/report/ladder_view.h"

namespace klab {
namespace {

constexpr size_t kLettersOfLine = 68;
constexpr double kLineHeight = 14;

/// Returns a number with at most two digits behind the point: "3", "3.5".
std::string units(double x) {
  std::string text = fmt::format("{:.2f}", std::round(x * 100) / 100);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string with_opacity(double opacity) {
  return opacity < 1 ? fmt::format(" fill-opacity=\"{}\"", units(opacity)) : "";
}

constexpr const char* kLight =
    "--k-paper:#fff;--k-ink:#1c2024;--k-dim:#5b636b;--k-line:#c3c9d0;--k-soft:#eef1f4;--k-hot:#a8430a;--k-"
    "blue:#2a66b8;"
    "--k-bad:#c4302b;--k-good:#1a7f4b;";
constexpr const char* kDark =
    "--k-paper:#15181c;--k-ink:#e4e7eb;--k-dim:#9aa3ad;--k-line:#4a525b;--k-soft:#232930;--k-hot:#f2a65a;--k-"
    "blue:#6fa8f5;"
    "--k-bad:#ff7b72;--k-good:#4cc38a;";
constexpr const char* kStyles =
    "svg.kp text{fill:var(--k-ink);font:11px system-ui,\"DejaVu Sans\",sans-serif}"
    "svg.kp .t{font-weight:600}svg.kp .d{fill:var(--k-dim)}svg.kp .s{font-size:9.5px}"
    "svg.kp .m{font-family:ui-monospace,\"DejaVu Sans Mono\",monospace;font-size:10px}"
    "svg.kp .paper{fill:var(--k-paper)}svg.kp .soft{fill:var(--k-soft)}svg.kp .hot{fill:var(--k-hot)}"
    "svg.kp .blue{fill:var(--k-blue)}svg.kp .bad{fill:var(--k-bad)}svg.kp .good{fill:var(--k-good)}"
    "svg.kp .ink{fill:var(--k-ink)}svg.kp .dimmed{fill:var(--k-dim)}"
    "svg.kp .rule{stroke:var(--k-line);stroke-width:.7;fill:none}"
    "svg.kp .edge{stroke:var(--k-ink);stroke-width:.8;fill:none}"
    "svg.kp .ring{stroke:var(--k-good);stroke-width:1.2;fill:none}";

}  // namespace

const std::string& svg_style() {
  static const std::string style = fmt::format(
      "svg.kp{{{0}}}@media (prefers-color-scheme:dark){{svg.kp{{{1}}}}}@media print{{svg.kp{{{0}}}}}{2}",
      kLight, kDark, kStyles);
  return style;
}

void Svg::text(double x, double y, const std::string& text, const char* style, const char* anchor) {
  body_ += fmt::format("<text x=\"{}\" y=\"{}\"", units(x), units(y));
  if (*style != '\0') body_ += fmt::format(" class=\"{}\"", style);
  if (std::string(anchor) != "start") body_ += fmt::format(" text-anchor=\"{}\"", anchor);
  const bool spaces = text.find("  ") != text.npos;
  body_ += fmt::format("{}>{}</text>\n", spaces ? " xml:space=\"preserve\"" : "", escaped(text));
}

void Svg::paragraph(const std::string& text, const char* style) {
  // Letters of headings, of style t, are wider.
  const size_t letters = std::string_view(style) == "t" ? kLettersOfLine * 9 / 10 : kLettersOfLine;
  std::istringstream in(text);
  std::string line;
  const auto out = [&] {
    height_ += kLineHeight;
    this->text(0, height_ - 3.5, line, style);
    line.clear();
  };
  for (std::string word; in >> word;) {
    if (!line.empty() && line.size() + 1 + word.size() > letters) out();
    line += (line.empty() ? "" : " ") + word;
  }
  if (!line.empty()) out();
}

void Svg::rect(double x, double y, double width, double height, const char* style, double opacity) {
  path(box(x, y, width, height), style, opacity);
}

void Svg::line(double x0, double y0, double x1, double y1, const char* style) {
  path(fmt::format("M{} {}L{} {}", units(x0), units(y0), units(x1), units(y1)), style);
}

void Svg::path(const std::string& d, const char* style, double opacity) {
  if (!d.empty()) body_ += fmt::format("<path class=\"{}\"{} d=\"{}\"/>\n", style, with_opacity(opacity), d);
}

void Svg::below(const Svg& other) {
  if (other.empty()) return;
  if (height_ > 0) height_ += 14;
  append(other);
}

void Svg::append(const Svg& other) {
  body_ += fmt::format("<g transform=\"translate(0 {})\">\n{}</g>\n", units(height_), other.body_);
  height_ += other.height_;
}

std::string Svg::str(const std::string& title, bool alone) const {
  const std::string head = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"kp\" viewBox=\"-6 -4 {0} {1}\" role=\"img\" "
      "aria-label=\"{2}\"{3}>\n",
      units(kWidth + 12), units(height_ + 10), escaped(title),
      alone ? fmt::format(" width=\"{}\" height=\"{}\"", units(kWidth + 12), units(height_ + 10)) : "");
  return head + (alone ? "<style>" + svg_style() + "</style>\n" : "") +
         fmt::format("<rect class=\"paper\" x=\"-6\" y=\"-4\" width=\"{}\" height=\"{}\"/>\n",
                     units(kWidth + 12), units(height_ + 10)) +
         body_ + "</svg>\n";
}

std::string box(double x, double y, double width, double height) {
  return fmt::format("M{} {}h{}v{}h-{}z", units(x), units(y), units(width), units(height), units(width));
}

}  // namespace klab
