// Something that draws single pixels of a picture: what plans of pictures are made of.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labs/radiance/evaluate/renderer.h"

namespace klab {

class PixelSource {
 public:
  virtual ~PixelSource() = default;
  /// Draws the listed pixels, numbered row by row, into a picture of the camera's size; the others stay as they are.
  virtual void draw(const Camera& camera, std::span<const int32_t> pixels, Picture& out) = 0;
};

/// Pixels of a hash field, by the renderer of `klab render`.
class HashPixels : public PixelSource {
 public:
  HashPixels(const Model& model, const Plan& plan, double stop) : renderer_(model, plan) {
    renderer_.stop_at(stop);
  }
  void draw(const Camera& camera, std::span<const int32_t> pixels, Picture& out) override {
    renderer_.draw(camera, pixels, out);
  }

 private:
  Renderer renderer_;
};

/// Returns the pixels of a picture row by row.
std::vector<int32_t> pixels_by_rows(int width, int height);

/// Returns the pixels whose mark is set in squares of 8 x 8, squares and the pixels in them row by row; of an empty list of marks
/// all. Rays through neighboring pixels read neighboring numbers.
std::vector<int32_t> pixels_by_squares(int width, int height, std::span<const uint8_t> marks = {});

}  // namespace klab
