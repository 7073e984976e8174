#include "labs/21_realtime/train/reuse.h"

#include <algorithm>
#include <utility>

#include "labs/radiance/evaluate/reuse.h"

namespace klab {

namespace {

/// Returns the frame, of `every`, in which a pixel is computed: neighbors have different ones.
int64_t turn_of(int32_t pixel, int width, int every) {
  const int x = pixel % width, y = pixel / width,
            across = every >= 8   ? 4
                     : every >= 2 ? 2
                                  : 1,
            down = every / across;
  return x % across + int64_t(across) * (y % down);
}

}  // namespace

const Picture& ReusingPictures::draw(const Camera& camera) {
  const bool known = picture_.width == camera.width && picture_.height == camera.height && camera.width > 1 &&
                     camera.height > 1;
  const auto pixels = int32_t(camera.width * camera.height);
  marks_.assign(size_t(pixels), uint8_t{1});
  Picture next = Renderer::empty_picture(camera);
  if (known) {
    Reprojected moved = reproject(picture_, before_, camera);
    next = std::move(moved.picture);
    for (int32_t i = 0; i < pixels; ++i)
      if (turn_of(i, camera.width, every_) != frame_ % every_ && moved.known[size_t(i)] != 0)
        marks_[size_t(i)] = 0;
  }
  const std::vector<int32_t> list = pixels_by_squares(camera.width, camera.height, marks_);
  source_.draw(camera, list, next);
  computed_ = double(list.size()) / double(std::max(1, pixels));
  picture_ = std::move(next);
  before_ = camera;
  ++frame_;
  return picture_;
}

}  // namespace klab
