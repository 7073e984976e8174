#include "labs/21_realtime/train/reuse.h"

#include <algorithm>
#include <cmath>

namespace klab {

/// Maps points of one camera's picture, with their depth, into another's: both see without distortion.
class ReusingPictures::Move {
 public:
  Move(const Camera& from, const Camera& to) : fx_(to.fx), fy_(to.fy), cx_(to.cx), cy_(to.cy) {
    const Vec3 axes[3] = {to.axis(0), -1.0F * to.axis(1), -1.0F * to.axis(2)};  // right, down, forward
    const Vec3 right = (1 / from.fx) * from.axis(0), down = (-1 / from.fy) * from.axis(1);
    const Vec3 corner = -1.0F * from.axis(2) - from.cx * right - from.cy * down,
               apart = from.position() - to.position();
    for (size_t k = 0; k < 3; ++k) {
      u_[k] = dot(axes[k], right), v_[k] = dot(axes[k], down), one_[k] = dot(axes[k], corner);
      shift_[k] = dot(axes[k], apart);
    }
  }

  /// Returns the place in the other picture, and the depth there; a depth of 0 or less is behind that camera.
  Vec3 operator()(float u, float v, float depth) const {
    float at[3];
    for (size_t k = 0; k < 3; ++k) at[k] = depth * (u * u_[k] + v * v_[k] + one_[k]) + shift_[k];
    return {fx_ * at[0] / at[2] + cx_, fy_ * at[1] / at[2] + cy_, at[2]};
  }

 private:
  float fx_, fy_, cx_, cy_;
  float u_[3], v_[3], one_[3], shift_[3];
};

namespace {

constexpr float kFar = 1e4F;          // grid units: the background
constexpr float kOpaque = 0.95F;      // pixels between this and its complement are edges, which are computed
constexpr float kOneSurface = 0.02F;  // depths that differ by less belong to one surface, as a share

/// The length of a ray that goes 1 along the viewing axis of a camera without distortion, through a point of its picture.
float stretch_at(const Camera& c, float u, float v) {
  const float x = (u - c.cx) / c.fx, y = (v - c.cy) / c.fy;
  return std::sqrt(1 + x * x + y * y);
}

/// Returns the frame, of `every`, in which a pixel is computed: neighbors have different ones.
int64_t turn_of(int32_t pixel, int width, int every) {
  const int x = pixel % width, y = pixel / width, side = every == 16 ? 4 : every == 4 ? 2 : 1;
  return x % side + int64_t(side) * (y % side);
}

}  // namespace

// Each pixel of the picture before finds the pixel that shows its point now; where several find one, the nearest counts.
void ReusingPictures::move_depths(const Camera& camera) {
  const auto pixels = int32_t(picture_.opacity.size());
  depths_before_.resize(size_t(pixels));
  std::fill(depths_.begin(), depths_.end(), INFINITY);
  const Move move(before_, camera);
  for (int32_t q = 0; q < pixels; ++q) {
    const float u = float(q % before_.width) + 0.5F, v = float(q / before_.width) + 0.5F;
    const float opacity = picture_.opacity[size_t(q)];
    float& depth = depths_before_[size_t(q)];
    depth = opacity >= kOpaque       ? picture_.depth[size_t(q)] / (opacity * stretch_at(before_, u, v))
            : opacity <= 1 - kOpaque ? kFar
                                     : INFINITY;
    if (depth > kFar) continue;
    const Vec3 seen = move(u, v, depth);
    if (!(seen.z > 0 && seen.x >= 0 && seen.y >= 0 && seen.x < float(camera.width) &&
          seen.y < float(camera.height)))
      continue;
    float& nearest = depths_[size_t(int(seen.y)) * size_t(camera.width) + size_t(seen.x)];
    nearest = std::min(nearest, depth < kFar ? seen.z : kFar);
  }
}

// Interpolates between the four pixels around the point's place in the picture before, which must show one surface.
bool ReusingPictures::take_over(const Camera& camera, const Move& back, int32_t pixel, Picture& out) const {
  const float depth = depths_[size_t(pixel)];
  if (depth > kFar) return false;
  const float column = float(pixel % camera.width) + 0.5F, row = float(pixel / camera.width) + 0.5F;
  const Vec3 seen = back(column, row, depth);
  const float u = seen.x - 0.5F, v = seen.y - 0.5F, there = depth < kFar ? seen.z : kFar;
  if (!(seen.z > 0 && u >= 0 && v >= 0 && u <= float(before_.width - 1) && v <= float(before_.height - 1)))
    return false;
  const int x = std::min(int(u), before_.width - 2), y = std::min(int(v), before_.height - 2);
  const float fx = u - float(x), fy = v - float(y);
  float rgb[3] = {0, 0, 0}, opacity = 0;
  for (int k = 0; k < 4; ++k) {
    const auto q = size_t((y + (k >> 1)) * before_.width + x + (k & 1));
    if (!(std::abs(depths_before_[q] - there) <= kOneSurface * there)) return false;
    const float weight = ((k & 1) != 0 ? fx : 1 - fx) * (k >> 1 != 0 ? fy : 1 - fy);
    for (size_t c = 0; c < 3; ++c) rgb[c] += weight * picture_.rgb[3 * q + c];
    opacity += weight * picture_.opacity[q];
  }
  std::copy_n(rgb, 3, out.rgb.begin() + 3 * int64_t(pixel));
  out.opacity[size_t(pixel)] = opacity;
  out.depth[size_t(pixel)] = depth < kFar ? depth * stretch_at(camera, column, row) * opacity : 0.0F;
  return true;
}

const Picture& ReusingPictures::draw(const Camera& camera) {
  const bool known = picture_.width == camera.width && picture_.height == camera.height && camera.width > 1 &&
                     camera.height > 1 && !camera.distorts() && !before_.distorts();
  next_ = Renderer::empty_picture(camera);
  const auto pixels = int32_t(next_.opacity.size());
  marks_.assign(size_t(pixels), uint8_t{1});
  depths_.resize(size_t(pixels));
  if (known) {
    move_depths(camera);
    const Move back(camera, before_);
#pragma omp parallel for schedule(static)
    for (int32_t i = 0; i < pixels; ++i)
      if (turn_of(i, camera.width, every_) != frame_ % every_ && take_over(camera, back, i, next_))
        marks_[size_t(i)] = 0;
  }
  const std::vector<int32_t> list = pixels_by_squares(camera.width, camera.height, marks_);
  source_.draw(camera, list, next_);
  computed_ = double(list.size()) / double(std::max(1, pixels));
  std::swap(picture_, next_);
  before_ = camera;
  ++frame_;
  return picture_;
}

}  // namespace klab
