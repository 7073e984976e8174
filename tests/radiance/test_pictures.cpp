// Pictures as they are read: turned upright, made smaller by the decoder, seen through lenses that bend.
// ctest: sanitized
#include <algorithm>
#include <cmath>

#include "labs/radiance/scene/jpeg.h"
#include "labs/radiance/scene/lens_undone.h"
#include "tests/radiance/colmap_folder.h"
#include "tests/radiance/jpeg_file.h"

namespace klab {
namespace {

/// Smooth colors, so that neither JPEG nor filters change them much.
std::vector<uint8_t> smooth(int width, int height) {
  std::vector<uint8_t> rgb;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      rgb.insert(rgb.end(), {uint8_t(20 + 200 * x / width), uint8_t(30 + 150 * y / height),
                             uint8_t(60 + 80 * (x + y) / (width + height))});
  return rgb;
}

Image image_of(int width, int height, const std::vector<uint8_t>& rgb) {
  Image image{.width = width, .height = height, .has_alpha = false, .rgba = {}};
  for (size_t i = 0; i < rgb.size(); i += 3)
    image.rgba.insert(image.rgba.end(), {rgb[i], rgb[i + 1], rgb[i + 2], 255});
  return image;
}

double largest_difference(const Image& a, const Image& b) {
  double most = 0;
  for (size_t i = 0; i < a.rgba.size(); ++i) most = std::max(most, std::abs(double(a.rgba[i]) - b.rgba[i]));
  return most;
}

using Pictures = WrittenFolder;

/// Where the corners of a picture of 3x2 pixels come from: "visual top" and "visual left-hand side" of the standard's table.
TEST_F(Pictures, EveryOrientationIsTurnedUpright) {
  // The stored pixels, by number:  0 1 2
  //                                3 4 5
  const std::vector<std::vector<int>> upright = {{0, 1, 2, 3, 4, 5}, {2, 1, 0, 5, 4, 3}, {5, 4, 3, 2, 1, 0},
                                                 {3, 4, 5, 0, 1, 2}, {0, 3, 1, 4, 2, 5}, {3, 0, 4, 1, 5, 2},
                                                 {5, 2, 4, 1, 3, 0}, {2, 5, 1, 4, 0, 3}};
  Image stored{.width = 3, .height = 2, .has_alpha = false, .rgba = {}};
  for (int i = 0; i < 6; ++i) stored.rgba.insert(stored.rgba.end(), {uint8_t(i), 7, 9, 255});
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const Image image = turned_upright(stored, orientation);
    ASSERT_EQ(image.width, orientation < 5 ? 3 : 2);
    for (size_t i = 0; i < 6; ++i)
      EXPECT_EQ(image.rgba[4 * i], upright[size_t(orientation - 1)][i]) << orientation << " " << i;
  }
}

TEST_F(Pictures, JpegsAreTurnedByTheirExif) {
  const auto rgb = smooth(24, 16);
  const Image stored = image_of(24, 16, rgb);
  for (int orientation = 1; orientation <= 8; ++orientation)
    for (const bool little : {true, false}) {
      write_text(path / "x.jpg", jpeg_of(24, 16, rgb, 100, orientation, little));
      const PictureHeader header = picture_header(path / "x.jpg");
      EXPECT_EQ(header.orientation, orientation);
      EXPECT_EQ(header.stored.width, 24);
      EXPECT_EQ(image_size(path / "x.jpg").width, orientation < 5 ? 24 : 16);
      const Image image = load_image(path / "x.jpg");
      ASSERT_EQ(image.width, orientation < 5 ? 24 : 16);
      EXPECT_LE(largest_difference(image, turned_upright(stored, orientation)), 6) << orientation;
      EXPECT_LE(largest_difference(load_image(path / "x.jpg", {.as_stored = true}), stored), 6);
    }
}

TEST_F(Pictures, IgnoresDamagedExif) {
  const std::string whole = exif_with(6, true);
  const auto orientation = [](const std::string& data) {
    return exif_orientation(reinterpret_cast<const uint8_t*>(data.data()), data.size());
  };
  EXPECT_EQ(orientation(whole), 6);
  for (size_t length = 0; length < whole.size() - 4; ++length)
    EXPECT_EQ(orientation(whole.substr(0, length)), 1);
  EXPECT_EQ(orientation(exif_with(9, true)), 1);
  EXPECT_EQ(orientation(exif_with(0, false)), 1);
  std::string odd = whole;
  odd[10] = '\xff', odd[11] = '\xff', odd[12] = '\xff', odd[13] = '\xff';  // a directory far away
  EXPECT_EQ(orientation(odd), 1);
}

/// A picture downscaled by the decoder is as large as the averaged one, and about the same.
TEST_F(Pictures, DecodersDownscale) {
  for (const auto& [width, height] : {std::pair{64, 48}, {67, 45}})
    for (const int orientation : {1, 6, 3}) {
      write_text(path / "x.jpg", jpeg_of(width, height, smooth(width, height), 95, orientation));
      const Image whole = load_image(path / "x.jpg");
      for (const int factor : {2, 3, 4, 6, 8, 16}) {
        const Image small = load_image(path / "x.jpg", {.reduce = factor}),
                    averaged = downscale(whole, factor);
        ASSERT_EQ(small.width, averaged.width) << factor << " " << orientation;
        ASSERT_EQ(small.height, averaged.height);
        EXPECT_LE(largest_difference(small, averaged), 8) << width << " by " << factor << ", " << orientation;
      }
      EXPECT_THROW(load_image(path / "x.jpg", {.reduce = 64}), std::invalid_argument);
    }
  const std::string file = jpeg_of(64, 48, smooth(64, 48), 95);
  write_text(path / "x.jpg", file.substr(0, file.size() / 2));
  EXPECT_THROW(load_image(path / "x.jpg", {.reduce = 8}), std::runtime_error)
      << "what is cut is not filled with gray";
}

/// A scene's pictures are read as its camera was measured: upright where only that fits, else as they are stored.
TEST_F(Pictures, TheCamerasSizeDecidesTheOrientation) {
  WrittenModel model;
  model.cameras.push_back({.width = 16, .height = 24, .parameters = {30, 30, 8, 12}});
  for (int i = 0; i < 3; ++i) {
    WrittenImage image{.name = fmt::format("{}.jpg", i)};
    set_pose(image, look_at({float(i) - 1, -4, 1}, {0, 0, 0}, 16, 24, 0.6F), {});
    model.images.push_back(image);
    // Stored 24 wide; turned by orientation 6 it is 16 wide.
    write_text(path / "images" / image.name, jpeg_of(24, 16, smooth(24, 16), 100, 6));
  }
  write_colmap_text(path, model);
  const Scene upright = load_scene(path.string(), {.holdout = 0});
  EXPECT_TRUE(noted(upright, "3 pictures are turned upright"));
  EXPECT_LE(largest_difference(upright.train[0].image, turned_upright(image_of(24, 16, smooth(24, 16)), 6)),
            6);
  model.cameras[0].width = 24, model.cameras[0].height = 16;
  write_colmap_text(path, model);
  const Scene stored = load_scene(path.string(), {.holdout = 0});
  EXPECT_TRUE(noted(stored, "3 pictures have an EXIF orientation and are read as they are stored"));
  EXPECT_LE(largest_difference(stored.train[0].image, image_of(24, 16, smooth(24, 16))), 6);
}

/// A lens of wide angle draws the directions of a known pattern; undone, a pinhole's pixel shows the pattern at its own direction.
TEST_F(Pictures, LensesOfWideAngleBecomePinholes) {
  Camera c = look_at({0, 0, 0}, {0, 0, -1}, 120, 100, 1.2F);
  c.fx = 60, c.fy = 55, c.cx = 58, c.cy = 51;
  const Fisheye k = {0.05F, -0.01F, 0.002F, -0.0003F};
  const auto pattern = [](double x, double y) {
    return 128 + 60 * std::sin(1.5 * x) + 50 * std::cos(1.3 * y);
  };
  Image bent{.width = 120, .height = 100, .has_alpha = false, .rgba = {}};
  for (int i = 0; i < 100; ++i)
    for (int j = 0; j < 120; ++j) {
      const double u = (j + 0.5 - c.cx) / c.fx, v = (i + 0.5 - c.cy) / c.fy, far = std::hypot(u, v);
      double angle = far;  // by bisection: the polynomial rises
      for (double low = 0, high = 2; high - low > 1e-12;) {
        angle = 0.5 * (low + high);
        const double a2 = angle * angle;
        const double out = angle * (1 + a2 * (k[0] + a2 * (k[1] + a2 * (k[2] + a2 * k[3]))));
        (out < far ? low : high) = angle;
      }
      const double f = angle < 1.5 ? std::tan(angle) / std::max(far, 1e-12) : 0;
      const auto level = uint8_t(std::lround(pattern(f * u, f * v)));
      bent.rgba.insert(bent.rgba.end(), {level, level, level, 255});
    }
  const PinholePicture flat = pinhole_picture(bent, c, k, {});
  ASSERT_EQ(flat.seen, nullptr) << "a pinhole of the same focal length sees less";
  for (int i = 5; i < 95; ++i)
    for (int j = 5; j < 115; ++j)
      ASSERT_NEAR(flat.image.at(j, i)[1], pattern((j + 0.5 - c.cx) / c.fx, (i + 0.5 - c.cy) / c.fy), 3)
          << j << " " << i;
  EXPECT_NEAR(fisheye_reach({0, 0, 0, 0}), 89 * M_PI / 180, 1e-6);
  EXPECT_NEAR(fisheye_reach({-0.5F, 0, 0, 0}), std::sqrt(1 / 1.5), 2e-3) << "the fold of a(1 - a²/2)";
}

/// OpenCV's lens the same way: a pixel of the pinhole shows the pixel of the distorted picture to which the
/// lens maps it.
TEST_F(Pictures, DistortedLensesBecomePinholesOnRequest) {
  Camera c = look_at({0, 0, 0}, {0, 0, -1}, 80, 60, 1);
  c.k1 = -0.2F, c.k2 = 0.03F, c.p1 = 1e-3F;
  const auto pattern = [](double x, double y) { return 128 + 80 * std::sin(3 * x) * std::cos(2 * y); };
  Image bent{.width = 80, .height = 60, .has_alpha = false, .rgba = {}};
  std::vector<uint8_t> counted(80 * 60, 1);
  for (int i = 0; i < 60; ++i)
    for (int j = 0; j < 80; ++j) {
      const Vec3 d = c.ray(float(j) + 0.5F, float(i) + 0.5F).direction;  // x right, y up, looking along -z
      const auto level = uint8_t(std::lround(pattern(-d.x / d.z, d.y / d.z)));
      bent.rgba.insert(bent.rgba.end(), {level, level, level, 255});
    }
  for (int j = 0; j < 80; ++j) counted[size_t(30 * 80 + j)] = 0;
  const PinholePicture flat = pinhole_picture(bent, c, std::nullopt, counted);
  ASSERT_NE(flat.seen, nullptr);
  EXPECT_NEAR(double(flat.seen->size()), 80 * 60 - 80, 30) << "the masked row, or about so many";
  for (const int32_t pixel : *flat.seen) {
    const int i = pixel / 80, j = pixel % 80;
    ASSERT_NEAR(flat.image.at(j, i)[0], pattern((j + 0.5 - c.cx) / c.fx, (i + 0.5 - c.cy) / c.fy), 3)
        << j << " " << i;
  }
}

}  // namespace
}  // namespace klab
