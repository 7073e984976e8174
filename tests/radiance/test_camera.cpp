// Cameras and their pictures: lens distortion there and back, averages of pixels that have alpha.
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

TEST(Image, DownscaleAveragesWithAlpha) {
  Image image;
  image.width = 3;  // the third column is the remainder that is cut off
  image.height = 2;
  image.has_alpha = true;
  image.rgba = {200, 0, 0, 255, 0, 0, 0, 0, 9, 9, 9, 9, 100, 0, 0, 255, 0, 0, 0, 0, 9, 9, 9, 9};
  const Image small = downscale(image, 2);
  ASSERT_EQ(small.width, 1);
  ASSERT_EQ(small.height, 1);
  EXPECT_EQ(small.rgba[0], 150);  // transparent pixels have no say in the color
  EXPECT_EQ(small.rgba[3], 128);
  EXPECT_THROW(downscale(image, 3), std::invalid_argument);
}

}  // namespace
}  // namespace klab
