#include "labs/21_realtime/train/foveation.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace klab {
namespace {

constexpr int kSquare = 4;

int squares_of(int pixels) { return (pixels + kSquare - 1) / kSquare; }

/// Returns the ends of the interval of the lattice of that spacing around a coordinate; the last pixel ends every lattice.
std::array<int, 2> around(int at, int spacing, int size) {
  const int low = at / spacing * spacing;
  return {low, std::min(low + spacing, size - 1)};
}

/// Marks the pixels of all squares' lattices, borders between squares included.
std::vector<uint8_t> marks_of(const Fovea& f) {
  std::vector<uint8_t> marks(size_t(f.width) * size_t(f.height), uint8_t{0});
  const int columns = squares_of(f.width);
  for (int y = 0; y < f.height; ++y)
    for (int x = 0; x < f.width; ++x) {
      const int spacing = f.spacing[size_t(y / kSquare * columns + x / kSquare)];
      for (const int row : around(y, spacing, f.height))
        for (const int column : around(x, spacing, f.width)) marks[size_t(row * f.width + column)] = 1;
    }
  return marks;
}

/// Sets the spacing of all squares for a sharp circle of that radius, in pixels.
void set_spacing(Fovea& f, double x, double y, double radius) {
  const int columns = squares_of(f.width), rows = squares_of(f.height);
  f.spacing.resize(size_t(columns) * size_t(rows));
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c) {
      const double away = std::hypot((c + 0.5) * kSquare - x, (r + 0.5) * kSquare - y);
      f.spacing[size_t(r * columns + c)] = uint8_t(away < radius ? 1 : away < 2 * radius ? 2 : 4);
    }
}

}  // namespace

Fovea fovea_of(int width, int height, double x, double y, double share) {
  Fovea f{width, height, {}, {}};
  const auto marks = [&](double radius) {
    set_spacing(f, x, y, radius);
    return marks_of(f);
  };
  const double most = share * double(width) * double(height);
  double low = 0,
         high = 2 * std::hypot(width, height);  // radii: one that pays, and one that covers everything
  std::vector<uint8_t> best = marks(low);
  for (int i = 0; i < 24; ++i) {
    const double radius = i == 0 ? high : 0.5 * (low + high);
    std::vector<uint8_t> tried = marks(radius);
    if (double(std::count(tried.begin(), tried.end(), uint8_t{1})) <= most)
      low = radius, best = std::move(tried);
    else
      high = radius;
  }
  set_spacing(f, x, y, low);
  f.computed = pixels_by_squares(width, height, best);
  return f;
}

Picture draw_foveated(PixelSource& source, const Camera& camera, const Fovea& f) {
  Picture out = Renderer::empty_picture(camera);
  source.draw(camera, f.computed, out);
  const Picture lattice = out;  // interpolated pixels are written next to those that they come from
  const int columns = squares_of(f.width);
#pragma omp parallel for schedule(static)
  for (int y = 0; y < f.height; ++y)
    for (int x = 0; x < f.width; ++x) {
      const int spacing = f.spacing[size_t(y / kSquare * columns + x / kSquare)];
      const std::array<int, 2> rows = around(y, spacing, f.height), of_row = around(x, spacing, f.width);
      const float down = rows[1] > rows[0] ? float(y - rows[0]) / float(rows[1] - rows[0]) : 0.0F;
      const float along = of_row[1] > of_row[0] ? float(x - of_row[0]) / float(of_row[1] - of_row[0]) : 0.0F;
      const auto pixel = size_t(y * f.width + x);
      const auto mix = [&](const std::vector<float>& from, size_t stride, size_t channel) {
        const auto value = [&](int row, int column) {
          return from[stride * size_t(row * f.width + column) + channel];
        };
        const auto in_row = [&](int row) {
          const float left = value(row, of_row[0]);
          return left + along * (value(row, of_row[1]) - left);
        };
        const float upper = in_row(rows[0]), lower = in_row(rows[1]);
        return upper + down * (lower - upper);
      };
      for (size_t c = 0; c < 3; ++c) out.rgb[3 * pixel + c] = mix(lattice.rgb, 3, c);
      out.opacity[pixel] = mix(lattice.opacity, 1, 0);
      out.depth[pixel] = mix(lattice.depth, 1, 0);
    }
  return out;
}

}  // namespace klab
