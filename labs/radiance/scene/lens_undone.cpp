#include "labs/radiance/scene/lens_undone.h"

#include <algorithm>
#include <cmath>

namespace klab {
namespace {

struct Place {
  double x, y;
};

/// Returns where the lens images the ray with the direction (x, y, 1), in pixels.
std::optional<Place> through_fisheye(const Camera& c, const Fisheye& k, double reach, double x, double y) {
  const double r = std::hypot(x, y), angle = std::atan(r);
  if (angle > reach) return std::nullopt;
  const double a2 = angle * angle;
  const double bent = angle * (1 + a2 * (k[0] + a2 * (k[1] + a2 * (k[2] + a2 * k[3]))));
  const double f = r > 1e-9 ? bent / r : 1;
  return Place{c.fx * f * x + c.cx, c.fy * f * y + c.cy};
}

/// Interpolates the four pixels around a place, which lies within the picture.
void look_up(const Image& image, double u, double v, uint8_t* out) {
  const double x = std::clamp(u - 0.5, 0.0, image.width - 1.0),
               y = std::clamp(v - 0.5, 0.0, image.height - 1.0);
  const int x0 = int(x), y0 = int(y), x1 = std::min(x0 + 1, image.width - 1),
            y1 = std::min(y0 + 1, image.height - 1);
  const double fx = x - x0, fy = y - y0;
  const struct {
    const uint8_t* pixel;
    double weight;
  } four[] = {{image.at(x0, y0), (1 - fx) * (1 - fy)},
              {image.at(x1, y0), fx * (1 - fy)},
              {image.at(x0, y1), (1 - fx) * fy},
              {image.at(x1, y1), fx * fy}};
  double color[3] = {0, 0, 0}, alpha = 0;
  for (const auto& [pixel, weight] : four) {
    for (int c = 0; c < 3; ++c) color[c] += weight * pixel[3] * pixel[c];
    alpha += weight * pixel[3];
  }
  for (int c = 0; c < 3; ++c) out[c] = alpha > 0 ? uint8_t(color[c] / alpha + 0.5) : uint8_t(0);
  out[3] = uint8_t(alpha + 0.5);
}

/// Maps the pixels of a pinhole's picture to the lens's picture of the same size.
class LensPlaces {
 public:
  LensPlaces(const Camera& camera, const std::optional<Fisheye>& fisheye)
      : c_(camera), fisheye_(fisheye), reach_(fisheye ? fisheye_reach(*fisheye) : 0) {}

  /// Returns the place for the pixel in column j of row i; nothing if it lies beyond the picture or the
  /// lens's reach.
  std::optional<Place> of(int i, int j) const {
    const double x = (j + 0.5 - c_.cx) / c_.fx, y = (i + 0.5 - c_.cy) / c_.fy;
    std::optional<Place> at;
    if (fisheye_)
      at = through_fisheye(c_, *fisheye_, reach_, x, y);
    else if (const auto place = c_.through_lens(x, y))
      at = Place{(*place)[0], (*place)[1]};
    if (!at || !(at->x >= 0 && at->x <= c_.width && at->y >= 0 && at->y <= c_.height)) return std::nullopt;
    return at;
  }

 private:
  const Camera& c_;
  const std::optional<Fisheye>& fisheye_;
  double reach_;
};

}  // namespace

double fisheye_reach(const Fisheye& k) {
  constexpr double kMost = 89.0 / 90;  // of a quarter turn: a pinhole's picture ends there
  constexpr int kSteps = 1000;
  for (int i = 1; i <= kSteps; ++i) {
    const double angle = kMost * M_PI_2 * i / kSteps, a2 = angle * angle;
    const double slope = 1 + a2 * (3 * double(k[0]) +
                                   a2 * (5 * double(k[1]) + a2 * (7 * double(k[2]) + a2 * 9 * double(k[3]))));
    if (!(slope > 0)) return kMost * M_PI_2 * (i - 1) / kSteps;
  }
  return kMost * M_PI_2;
}

std::shared_ptr<const std::vector<int32_t>> pixels_of_pinhole(const Camera& c,
                                                              const std::optional<Fisheye>& fisheye,
                                                              const std::vector<uint8_t>& counted) {
  const LensPlaces places(c, fisheye);
  auto seen = std::make_shared<std::vector<int32_t>>();
  for (int i = 0; i < c.height; ++i)
    for (int j = 0; j < c.width; ++j) {
      const auto at = places.of(i, j);
      if (!at) continue;
      const size_t nearest = size_t(std::min(int(at->y), c.height - 1)) * size_t(c.width) +
                             size_t(std::min(int(at->x), c.width - 1));
      if (counted.empty() || counted[nearest] != 0) seen->push_back(i * c.width + j);
    }
  if (seen->size() == size_t(c.width) * size_t(c.height)) return nullptr;
  return seen;
}

PinholePicture pinhole_picture(const Image& image, const Camera& camera,
                               const std::optional<Fisheye>& fisheye, const std::vector<uint8_t>& counted) {
  PinholePicture out;
  out.image = {.width = image.width, .height = image.height, .has_alpha = image.has_alpha, .rgba = {}};
  out.image.rgba.assign(image.rgba.size(), 0);
  const LensPlaces places(camera, fisheye);
  uint8_t* pixel = out.image.rgba.data();
  for (int i = 0; i < image.height; ++i)
    for (int j = 0; j < image.width; ++j, pixel += 4) {
      if (!image.has_alpha) pixel[3] = 255;
      if (const auto at = places.of(i, j)) look_up(image, at->x, at->y, pixel);
    }
  out.seen = pixels_of_pinhole(camera, fisheye, counted);
  return out;
}

}  // namespace klab
