// Reads a PNG, shrinks it, and embeds it in a page.
#include <png.h>
#include <stdio.h>  // jpeglib.h needs FILE

#include <jpeglib.h>

#include <algorithm>
#include <csetjmp>
#include <cstdlib>
#include <filesystem>

#include "harness/report/base64.h"
#include "harness/report/training.h"

namespace klab {
namespace {

struct Pixels {
  int width = 0, height = 0;
  std::vector<uint8_t> rgb;
};

constexpr int kLargest = 20000;  // pixels per side

Pixels read_png(const std::string& file) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_file(&image, file.c_str()) == 0) return {};
  image.format = PNG_FORMAT_RGB;
  Pixels p;
  if (image.width > kLargest || image.height > kLargest) {
    png_image_free(&image);
    return {};
  }
  p.rgb.resize(PNG_IMAGE_SIZE(image));
  const png_color white{255, 255, 255};
  if (png_image_finish_read(&image, &white, p.rgb.data(), 0, nullptr) == 0) return {};
  p.width = int(image.width);
  p.height = int(image.height);
  return p;
}

/// Shrinks the picture. Each new pixel is the mean of those it covers.
Pixels shrunk(const Pixels& p, int width) {
  if (width < 1 || p.width <= width) return p;
  Pixels small{width, std::max(1, int(int64_t(p.height) * width / p.width)), {}};
  small.rgb.resize(size_t(small.width) * size_t(small.height) * 3);
  for (int y = 0; y < small.height; ++y)
    for (int x = 0; x < small.width; ++x) {
      const int x0 = int(int64_t(x) * p.width / small.width),
                x1 = int(int64_t(x + 1) * p.width / small.width);
      const int y0 = int(int64_t(y) * p.height / small.height),
                y1 = int(int64_t(y + 1) * p.height / small.height);
      for (int c = 0; c < 3; ++c) {
        int64_t sum = 0, count = 0;
        for (int v = y0; v < std::max(y1, y0 + 1); ++v)
          for (int u = x0; u < std::max(x1, x0 + 1); ++u, ++count)
            sum += p.rgb[(size_t(v) * size_t(p.width) + size_t(u)) * 3 + size_t(c)];
        small.rgb[(size_t(y) * size_t(small.width) + size_t(x)) * 3 + size_t(c)] = uint8_t(sum / count);
      }
    }
  return small;
}

std::vector<uint8_t> jpeg_of(const Pixels& p) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &bytes, &size);
  jpeg.image_width = JDIMENSION(p.width);
  jpeg.image_height = JDIMENSION(p.height);
  jpeg.input_components = 3;
  jpeg.in_color_space = JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 85, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    JSAMPROW row = const_cast<JSAMPROW>(&p.rgb[size_t(jpeg.next_scanline) * size_t(p.width) * 3]);
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  std::vector<uint8_t> result(bytes, bytes + size);
  std::free(bytes);
  return result;
}

/// Returns the columns from `begin` on.
Pixels columns_of(const Pixels& p, int begin, int width) {
  Pixels part{width, p.height, {}};
  for (int y = 0; y < p.height; ++y) {
    const auto line = p.rgb.begin() + std::ptrdiff_t((size_t(y) * size_t(p.width) + size_t(begin)) * 3);
    part.rgb.insert(part.rgb.end(), line, line + 3 * std::ptrdiff_t(width));
  }
  return part;
}

std::string data_of(const Pixels& p) { return "data:image/jpeg;base64," + base64(jpeg_of(p)); }

}  // namespace

TrainingPicture embedded_picture(const std::string& file, int width) {
  const Pixels pixels = shrunk(read_png(file), width);
  if (pixels.rgb.empty()) return {};
  return {std::filesystem::path(file).filename().string(), data_of(pixels), pixels.width, pixels.height};
}

TrainingPicture embedded_comparison(const std::string& file, int width) {
  const Pixels both = read_png(file);
  const int half = both.width / 2;
  if (half < 1) return {};
  const Pixels model = shrunk(columns_of(both, 0, half), width),
               truth = shrunk(columns_of(both, both.width - half, half), width);
  return {std::filesystem::path(file).filename().string(), data_of(model), model.width, model.height,
          data_of(truth)};
}

}  // namespace klab
