// Pictures along a path of cameras that take over what the picture before has shown.
//
// Every pixel's color is computed once in a few frames, a different part of the pixels in each. For the others the point
// that the pixel shows is looked up in the picture before: its distance comes from that picture, moved to the new camera. Where
// that picture did not show it (it was hidden, outside, or lies at an edge), the pixel is computed. (D. Nehab and others,
// "Accelerating Real-Time Shading with Reverse Reprojection Caching", Graphics Hardware 2007.)
#pragma once

#include "labs/21_realtime/train/pixel_source.h"

namespace klab {

class ReusingPictures {
 public:
  /// The source must outlive it. Each pixel is computed at least once in `every` frames: 1, 2, 4, 8 or 16.
  ReusingPictures(PixelSource& source, int every) : source_(source), every_(every) {}

  /// Returns the next picture of the path. The first one is computed whole, and so is one of another size.
  const Picture& draw(const Camera& camera);
  /// Returns the share of its pixels that the last picture computed.
  double computed() const { return computed_; }
  /// Forgets the picture before.
  void forget() { picture_ = {}; }

 private:
  PixelSource& source_;
  int every_;
  int64_t frame_ = 0;
  Camera before_;
  Picture picture_;
  std::vector<uint8_t> marks_;  // pixels that are computed
  double computed_ = 1;
};

}  // namespace klab
