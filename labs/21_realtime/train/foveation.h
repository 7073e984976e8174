// Which pixels of a picture are computed where a budget does not pay for all: those around the gaze, and fewer of the others.
#pragma once

#include "labs/21_realtime/train/pixel_source.h"

namespace klab {

/// The pixels to compute of a picture. In squares of 4 x 4 pixels near the gaze all are computed, farther away every second of
/// each row and column, then every fourth; the others are interpolated between those.
struct Fovea {
  int width = 0, height = 0;
  std::vector<int32_t> computed;  // in squares
  std::vector<uint8_t> spacing;   // [squares], row by row: 1, 2 or 4 pixels
};

/// Returns the fovea with the largest sharp circle around the pixel (x, y) whose pixels are at most `share` of the picture's;
/// twice as far away every second pixel is still computed. Every fourth pixel is computed in any case, so the least share is
/// about 1/16.
Fovea fovea_of(int width, int height, double x, double y, double share);

/// Draws a picture with a fovea of its size.
Picture draw_foveated(PixelSource& source, const Camera& camera, const Fovea& fovea);

}  // namespace klab
