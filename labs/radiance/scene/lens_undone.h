// Resamples pictures of distorting lenses as pinholes would have taken them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "labs/radiance/scene/lens_models.h"

namespace klab {

/// A picture, and the pixels that show something; null: all.
struct PinholePicture {
  Image image;
  std::shared_ptr<const std::vector<int32_t>> seen;
};

/// Returns the picture of a pinhole with this camera's size, focal lengths and center, in the same place.
/// Every pixel is looked up where the lens images its ray and interpolated between the four nearest pixels,
/// colors weighted by alpha. Pixels beyond the lens's reach or the picture are black and not seen; a
/// wide-angle lens loses everything at more than 89 degrees. `counted`: pixels of `image` that count, row by
/// row; empty: all. A result whose nearest pixel does not count is not seen.
PinholePicture pinhole_picture(const Image& image, const Camera& camera,
                               const std::optional<Fisheye>& fisheye, const std::vector<uint8_t>& counted);

/// Computes only the `seen` list, without a picture.
std::shared_ptr<const std::vector<int32_t>> pixels_of_pinhole(const Camera& camera,
                                                              const std::optional<Fisheye>& fisheye,
                                                              const std::vector<uint8_t>& counted);

/// Returns the largest angle to the axis, in radians and at most a quarter turn, up to which a wide-angle
/// lens is monotonic: its polynomial folds there.
double fisheye_reach(const Fisheye& lens);

}  // namespace klab
