// Pictures that take over what another one shows, of a scene whose pictures are known exactly: a ball in front of a wall, and nothing
// around it.
#include <gtest/gtest.h>

#include "labs/radiance/evaluate/evaluate.h"
#include "labs/radiance/evaluate/reuse.h"

namespace klab {
namespace {

constexpr Vec3 kCenter{0.5F, 0.5F, 0.5F};
constexpr float kRadius = 0.15F;

Vec3 color_at(Vec3 p) {
  return {0.5F + 0.4F * std::sin(9 * p.x), 0.5F + 0.4F * std::sin(7 * p.y), 0.5F + 0.4F * std::cos(8 * p.z)};
}

Picture draw(const Camera& camera) {
  Picture out = Renderer::empty_picture(camera);
  for (int y = 0; y < camera.height; ++y)
    for (int x = 0; x < camera.width; ++x) {
      const size_t at = size_t(y) * size_t(camera.width) + size_t(x);
      const Ray ray = camera.ray(float(x) + 0.5F, float(y) + 0.5F);
      float nearest = INFINITY;
      const Vec3 to = ray.origin - kCenter;
      const float b = dot(to, ray.direction), d = b * b - dot(to, to) + kRadius * kRadius;
      if (d > 0 && -b - std::sqrt(d) > 0) nearest = -b - std::sqrt(d);
      // The wall: y = 0.9, within a square.
      const float wall = (0.9F - ray.origin.y) / ray.direction.y;
      const Vec3 on = ray.origin + wall * ray.direction;
      if (wall > 0 && wall < nearest && std::abs(on.x - 0.5F) < 0.4F && std::abs(on.z - 0.5F) < 0.4F)
        nearest = wall;
      const bool hit = nearest < INFINITY;
      const Vec3 color = hit ? color_at(ray.origin + nearest * ray.direction) : Vec3{1, 1, 1};
      const float rgb[] = {color.x, color.y, color.z};
      for (size_t c = 0; c < 3; ++c) out.rgb[3 * at + c] = rgb[c];
      out.opacity[at] = hit ? 1 : 0;
      out.depth[at] = hit ? nearest : 0;
    }
  return out;
}

Camera camera_at(float angle) {
  const Vec3 eye{0.5F + std::sin(angle), 0.5F - std::cos(angle), 0.7F};
  return look_at(eye, kCenter, 96, 80, 0.9F);
}

TEST(Reuse, TheSameCameraShowsTheSame) {
  const Camera camera = camera_at(0.1F);
  const Picture seen = draw(camera);
  const Reprojected same = reproject(seen, camera, camera);
  int64_t known = 0;
  for (size_t i = 0; i < same.known.size(); ++i) {
    if (same.known[i] == 0) continue;
    ++known;
    for (size_t c = 0; c < 3; ++c) EXPECT_NEAR(same.picture.rgb[3 * i + c], seen.rgb[3 * i + c], 2e-3) << i;
  }
  EXPECT_GT(known, int64_t(same.known.size()) * 3 / 4);
}

TEST(Reuse, FindsTheRightPixelsOfAnotherView) {
  const Camera from = camera_at(0), to = camera_at(0.06F);
  const Picture truth = draw(to);
  const Reprojected other = reproject(draw(from), from, to);
  int64_t known = 0, wrong = 0, hidden = 0;
  for (size_t i = 0; i < other.known.size(); ++i) {
    const Vec3 point = to.ray(float(i % 96) + 0.5F, float(i / 96) + 0.5F).origin +
                       truth.depth[i] * to.ray(float(i % 96) + 0.5F, float(i / 96) + 0.5F).direction;
    // Points of the wall that the ball hid from the first camera are not known.
    const Vec3 ray = normalized(point - from.position()), away = from.position() - kCenter;
    const float b = dot(away, ray), d = b * b - dot(away, away) + kRadius * kRadius;
    const bool behind = truth.opacity[i] > 0 && d > 0 && length(point - from.position()) > -b + kRadius;
    hidden += behind;
    if (other.known[i] == 0) continue;
    EXPECT_FALSE(behind) << i;
    ++known;
    for (size_t c = 0; c < 3; ++c)
      wrong += std::abs(other.picture.rgb[3 * i + c] - truth.rgb[3 * i + c]) > 0.03F;
  }
  EXPECT_GT(hidden, 20);
  EXPECT_GT(known, int64_t(other.known.size()) / 2);
  EXPECT_LT(wrong, known / 100);
}

TEST(Reuse, APathDrawsWholePicturesNowAndThenAndTilesBetween) {
  int64_t drawn = 0, all = 0;
  int whole = 0;
  ReusedPictures pictures(
      [&](const Camera& camera) {
        drawn += int64_t(camera.width) * camera.height;
        whole += camera.width == 96 && camera.height == 80;
        return draw(camera);
      },
      4);
  for (int i = 0; i < 9; ++i) {
    const Camera camera = camera_at(0.02F * float(i));
    const Picture picture = pictures.next(camera);
    ASSERT_EQ(picture.rgb.size(), size_t(3 * 96 * 80));
    EXPECT_GT(psnr(picture.rgb, draw(camera).rgb), 34) << i;
    all += 96 * 80;
  }
  EXPECT_EQ(whole, 3);               // pictures 0, 4 and 8
  EXPECT_LT(drawn, all * 95 / 100);  // few of the 30 tiles lie neither at the border nor at an edge
  EXPECT_DOUBLE_EQ(pictures.drawn_share(), double(drawn) / double(all));
  // Another lens has to be drawn.
  Camera closer = camera_at(0.18F);
  closer.fx *= 2;
  pictures.next(closer);
  EXPECT_EQ(whole, 4);
}

}  // namespace
}  // namespace klab
