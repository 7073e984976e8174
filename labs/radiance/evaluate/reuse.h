// Pictures along a path of cameras that share work: what a picture shows is taken over by the next ones, and only the rest is drawn.
//
// A pixel of the new camera takes the color of the point that it sees from the last picture that was drawn whole (W. Mark, L.
// McMillan, G. Bishop, "Post-rendering 3D warping", 1997). Points that were hidden there, edges, and pixels that are neither solid nor
// empty are drawn, in tiles. Colors that change with the direction are those of that picture.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "labs/radiance/evaluate/renderer.h"

namespace klab {

/// A picture as far as it is known from another one.
struct Reprojected {
  Picture picture;             // zeros where it is not known
  std::vector<uint8_t> known;  // [height, width]
};

/// Returns what `to` sees of a picture that `from` has seen; its depth must be that of Picture.
Reprojected reproject(const Picture& seen, const Camera& from, const Camera& to);

class ReusedPictures {
 public:
  static constexpr int kTile = 16;  // pixels along an edge of what is drawn at a time, at least

  /// Draws every `every`-th picture whole, and tiles of the others, with `draw`.
  ReusedPictures(std::function<Picture(const Camera&)> draw, int every);
  /// Makes the picture of the path's next camera. A camera of another size or lens is drawn whole. Only whole pictures have a depth.
  Picture next(const Camera& camera);
  /// Returns the share of all pixels so far that were drawn.
  double drawn_share() const { return double(drawn_) / double(pixels_ > 0 ? pixels_ : 1); }

 private:
  void draw_unknown(const Camera& camera, Reprojected& known);

  std::function<Picture(const Camera&)> draw_;
  int every_, since_ = 0;  // pictures since the last whole one
  Picture whole_;
  Camera camera_;  // of that one
  int64_t pixels_ = 0, drawn_ = 0;
};

}  // namespace klab
