// Cameras and their pictures: lens distortion there and back, averages of pixels that have alpha.
// ctest: sanitized
#include <gtest/gtest.h>

#include <stdexcept>
#include <utility>

#include "labs/radiance/scene/camera.h"
#include "labs/radiance/scene/image.h"

namespace klab {
namespace {

TEST(Camera, DistortionIsUndone) {
  Camera c = look_at({3, 1, 2}, {0, 0, 0}, 200, 300, 0.8F);
  c.k1 = 0.06F;
  c.k2 = -0.08F;
  c.p1 = -1e-3F;
  c.p2 = 2e-4F;
  for (const auto& [u, v] : {std::pair{3.F, 4.F}, {100.F, 150.F}, {199.F, 299.F}}) {
    const Ray ray = c.ray(u, v);
    const Vec3 back = c.project(ray.origin + 2.5F * ray.direction);
    EXPECT_NEAR(back.x, u, 5e-3);
    EXPECT_NEAR(back.y, v, 5e-3);
  }
}

// A phone's lens whose polynomial folds within the picture's corners.
Camera folding() {
  Camera c = look_at({3, 1, 2}, {0, 0, 0}, 403, 302, 0.8F);
  c.fx = c.fy = 150;
  c.cx = 201.5F;
  c.cy = 151;
  c.k1 = 0.0578F;
  c.k2 = -0.0805F;
  return c;
}

TEST(Camera, EveryRayIsFiniteAndLensRaysProjectBack) {
  for (const float k2 : {-0.0805F, 0.F, 0.3F, -50.F})
    for (const float p1 : {0.F, 1e-2F}) {
      Camera c = folding();
      c.k2 = k2;
      c.p1 = p1;
      int seen = 0;
      for (int y = 0; y < c.height; y += 3)
        for (int x = 0; x < c.width; x += 3) {
          const float u = float(x) + 0.5F, v = float(y) + 0.5F;
          const Ray ray = c.ray(u, v);
          ASSERT_NEAR(length(ray.direction), 1, 1e-5);
          ASSERT_TRUE(std::isfinite(length(ray.origin)));
          if (!c.sees(u, v)) continue;
          ++seen;
          const Vec3 back = c.project(ray.origin + 2.5F * ray.direction);
          ASSERT_NEAR(back.x, u, 2e-2) << x << " " << y << " k2 " << k2;
          ASSERT_NEAR(back.y, v, 2e-2) << x << " " << y << " k2 " << k2;
        }
      EXPECT_GT(seen, 0);
    }
}

TEST(Camera, PixelsBeyondTheFoldAreCounted) {
  Camera c = folding();
  const auto some = pixels_with_ray(c);
  ASSERT_NE(some, nullptr);
  EXPECT_GT(some->size(), size_t(c.width) * size_t(c.height) / 2);
  EXPECT_LT(some->size(), size_t(c.width) * size_t(c.height));
  for (const int32_t pixel : *some)
    ASSERT_TRUE(c.sees(float(pixel % c.width) + 0.5F, float(pixel / c.width) + 0.5F));
  EXPECT_FALSE(c.sees(0.5F, 0.5F));
  c.k2 = 0;
  EXPECT_EQ(pixels_with_ray(c), nullptr) << "the polynomial rises everywhere";
  c.k1 = 0;
  EXPECT_EQ(pixels_with_ray(c), nullptr);
}

TEST(Camera, PointsBeyondTheFoldProjectToItsOwnSide) {
  const Camera c = folding();
  const Vec3 aside = c.position() - 1.F * c.axis(2) + 3.F * c.axis(0);  // 72 degrees to the right
  EXPECT_GT(c.project(aside).x, c.cx);
}

TEST(Image, DownscaleAveragesWithAlpha) {
  Image image;
  image.width = 3;  // the third column is the remainder that is cut off
  image.height = 2;
  image.has_alpha = true;
  image.rgba = {200, 0, 0, 255, 0, 0, 0, 0, 9, 9, 9, 9, 100, 0, 0, 255, 0, 0, 0, 0, 9, 9, 9, 9};
  const Image small = downscale(image, 2);
  ASSERT_EQ(small.width, 1);
  ASSERT_EQ(small.height, 1);
  EXPECT_EQ(small.rgba[0], 150);  // transparent pixels do not count in the color
  EXPECT_EQ(small.rgba[3], 128);
  EXPECT_THROW(downscale(image, 3), std::invalid_argument);
}

}  // namespace
}  // namespace klab
