#include "labs/radiance/run/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace klab {
namespace {

constexpr int kColumns = 2, kRows = 4;  // dots of a character

/// A picture of dots.
class Dots {
 public:
  Dots(int width, int height) : width_(width), cells_(size_t(width) * size_t(height), 0) {}

  void set(int x, int y) {
    static constexpr uint8_t kBits[kRows][kColumns] = {
        {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    cells_[size_t(y / kRows) * size_t(width_) + size_t(x / kColumns)] |= kBits[y % kRows][x % kColumns];
  }
  std::string line(int row) const {
    std::string text;
    for (int c = 0; c < width_; ++c) {
      const uint8_t bits = cells_[size_t(row) * size_t(width_) + size_t(c)];
      if (bits == 0) {
        text += ' ';
        continue;
      }
      const unsigned code = 0x2800U + bits;  // as UTF-8
      text += char(0xE0U | code >> 12);
      text += char(0x80U | (code >> 6 & 0x3FU));
      text += char(0x80U | (code & 0x3FU));
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  }

 private:
  int width_;
  std::vector<uint8_t> cells_;
};

struct Span {
  double low = INFINITY, high = -INFINITY;
  void take(double v) {
    low = std::min(low, v);
    high = std::max(high, v);
  }
  int dot(double v, int dots) const {
    return high > low ? int(std::lround((v - low) / (high - low) * (dots - 1))) : dots / 2;
  }
};

}  // namespace

std::vector<std::string> chart(std::span<const double> x, std::span<const double> y, const ChartOptions& o) {
  const int width = std::max(4, o.width), height = std::max(1, o.height);
  std::vector<std::pair<double, double>> points;
  Span along, up;
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    if (!std::isfinite(x[i]) || !std::isfinite(y[i]) || (o.logarithmic && !(y[i] > 0))) continue;
    points.emplace_back(x[i], o.logarithmic ? std::log10(y[i]) : y[i]);
    along.take(points.back().first);
    up.take(points.back().second);
  }
  if (points.empty()) return {};
  Dots dots(width, height);
  const int columns = width * kColumns, rows = height * kRows;
  int last_x = -1, last_y = 0;
  for (const auto& [at, value] : points) {
    const int px = along.dot(at, columns), py = rows - 1 - up.dot(value, rows);
    // Joins points that are more than a column apart.
    for (int c = last_x < 0 ? px : std::min(last_x + 1, px); c <= px; ++c)
      dots.set(c, px == last_x || last_x < 0 ? py : last_y + (py - last_y) * (c - last_x) / (px - last_x));
    last_x = px;
    last_y = py;
  }
  const auto label = [&](double v) {
    return fmt::format(fmt::runtime(o.format), o.logarithmic ? std::pow(10, v) : v);
  };
  const std::string top = label(up.high), bottom = label(up.low);
  const size_t margin = std::max(top.size(), bottom.size());
  std::vector<std::string> lines;
  for (int row = 0; row < height; ++row)
    lines.push_back(fmt::format("{:>{}} {}",
                                row == 0            ? top
                                : row == height - 1 ? bottom
                                                    : "",
                                margin, dots.line(row)));
  return lines;
}

}  // namespace klab
