// Pictures as bytes: what people see of a rendered picture, in a browser or on a contact sheet.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "labs/radiance/evaluate/renderer.h"
#include "labs/radiance/scene/scene.h"

namespace klab {

/// Mean difference of the three colors from which on error_bytes() shows white.
inline constexpr float kWorstError = 0.5F;

/// A picture of floats, [height, width, 3] in [0, 1].
struct Photo {
  int width = 0, height = 0;
  std::vector<float> rgb;
};

/// Returns a picture of another size, at most as large: pixels are averages over those that they cover.
Photo reduced_photo(Photo picture, int width, int height);
/// Returns the picture of a view on the background that the model is evaluated on, reduced to a size.
Photo photo_of(const View& view, bool black, int width, int height);

/// Returns 3 bytes a pixel of sRGB: colors with more or less light.
std::string color_bytes(const std::vector<float>& rgb, float exposure);
/// Expected distance: near is white, far is black, and so is what hits nothing.
std::string depth_bytes(const Picture& picture);
/// Directions of surfaces in the world, 0.5 + 0.5 n, from differences of depth; what hits nothing is gray.
std::string normal_bytes(const Picture& picture, const Camera& camera);
/// Mean difference of the three colors, from black (0) over red and yellow to white (kWorstError and more).
std::string error_bytes(const Picture& picture, const Photo& truth);

}  // namespace klab
