// Pictures of lenses that bend, as pinholes would have taken them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "labs/radiance/scene/lens_models.h"

namespace klab {

/// A picture and which of its pixels show something; null: all.
struct PinholePicture {
  Image image;
  std::shared_ptr<const std::vector<int32_t>> seen;
};

/// The picture of a pinhole with this camera's size, focal lengths and middle, in the same place: every pixel is looked up
/// where the lens puts its ray, between the four nearest pixels, colors weighted by alpha. What the lens does not show, or
/// shows beyond the picture, is black and is not seen; what a lens of wide angle shows at more than 89 degrees is lost.
/// `counted`: pixels of `image` that count, row by row, or empty: all; those looked up where the nearest does not are not seen.
PinholePicture pinhole_picture(const Image& image, const Camera& camera,
                               const std::optional<Fisheye>& fisheye, const std::vector<uint8_t>& counted);

/// Its `seen` alone, for which no picture has to be there.
std::shared_ptr<const std::vector<int32_t>> pixels_of_pinhole(const Camera& camera,
                                                              const std::optional<Fisheye>& fisheye,
                                                              const std::vector<uint8_t>& counted);

/// The largest angle to the axis, in radians and at most a quarter turn, up to which a lens of wide angle spreads: its
/// polynomial folds there.
double fisheye_reach(const Fisheye& lens);

}  // namespace klab
