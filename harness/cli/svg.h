// Small pictures as SVG: 400 units wide, so that they can be read on a phone; in light and dark mode, and printed.
#pragma once

#include <string>
#include <vector>

namespace klab {

/// Builds a picture from top to bottom. Coordinates are in units of about a pixel.
class Svg {
 public:
  static constexpr double kWidth = 400;

  /// Adds text whose baseline is at y. Styles: "t" title, "d" dim, "m" monospaced, "s" small; anchors: "start", "middle", "end".
  void text(double x, double y, const std::string& text, const char* style = "",
            const char* anchor = "start");
  /// Adds text below the present height, broken into lines.
  void paragraph(const std::string& text, const char* style = "");
  void rect(double x, double y, double width, double height, const char* style, double opacity = 1);
  void line(double x0, double y0, double x1, double y1, const char* style);
  /// Adds shapes of one style as one path. Nothing is added for an empty path.
  void path(const std::string& d, const char* style, double opacity = 1);
  /// Adds another picture below, right there or with a gap.
  void append(const Svg& other);
  void below(const Svg& other);

  double height() const { return height_; }
  void grow(double by) { height_ += by; }
  bool empty() const { return body_.empty(); }
  size_t bytes() const { return body_.size(); }

  /// Returns the picture. `alone`: as a file, with its own style; else a part of a page that has svg_style(). `title` is read aloud.
  std::string str(const std::string& title, bool alone) const;

 private:
  std::string body_;
  double height_ = 0;
};

/// Returns a rectangle for path().
std::string box(double x, double y, double width, double height);

/// Returns the style of pictures that are parts of a page.
const std::string& svg_style();

}  // namespace klab
