// Pictures as bytes: what of a rendered picture a browser shows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "labs/radiance/evaluate/renderer.h"
#include "labs/radiance/view/view_request.h"

namespace klab {

/// A picture of floats, [height, width, 3] in [0, 1].
struct Photo {
  int width = 0, height = 0;
  std::vector<float> rgb;
};

/// Returns the picture of a view on the background that the model is evaluated on, reduced to a width; pixels are
/// averages over those of the view.
Photo photo_of(const View& view, bool black, int width, int height);

/// Returns 3 bytes a pixel of sRGB: colors with more or less light.
std::string color_bytes(const std::vector<float>& rgb, float exposure);
/// Expected distance: near is white, far is black, and so is what hits nothing.
std::string depth_bytes(const Picture& picture);
/// Directions of surfaces in the world, 0.5 + 0.5 n, from differences of depth; what hits nothing is gray.
std::string normal_bytes(const Picture& picture, const Camera& camera);
/// Mean difference of the three colors, from black (0) over red and yellow to white (0.5 and more).
std::string error_bytes(const Picture& picture, const Photo& truth);

}  // namespace klab
