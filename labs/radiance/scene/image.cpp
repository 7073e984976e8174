#include "labs/radiance/scene/image.h"

#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
// After <cstdio>: jpeglib.h uses FILE without declaring it.
#include <jpeglib.h>

#include "harness/records/atomic_file.h"
#include "harness/records/input.h"
#include "harness/records/memory_left.h"
#include "harness/records/numbers.h"

namespace klab {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<uint8_t>;

[[noreturn]] void fail(const fs::path& file, const std::string& what) {
  throw std::runtime_error("image " + file.string() + ": " + what);
}

constexpr int64_t kMostBytes = 2'000'000'000;  // of a file

Bytes read_whole(const fs::path& file) {
  try {
    Bytes bytes = read_bytes(file, kMostBytes);
    if (bytes.empty()) throw std::runtime_error(file.string() + ": is empty");
    return bytes;
  } catch (const std::runtime_error& e) {
    throw std::runtime_error(std::string("image ") + e.what());
  }
}

void require_size(const fs::path& file, uint32_t width, uint32_t height) {
  if (!within(width, range::picture_side) || !within(height, range::picture_side))
    fail(file, "says that it is " + std::to_string(width) + "x" + std::to_string(height) +
                   "; a side must be " + text_of(range::picture_side));
}

bool is_png(const Bytes& b) { return b.size() >= 8 && std::memcmp(b.data(), "\x89PNG\r\n\x1a\n", 8) == 0; }
bool is_jpeg(const Bytes& b) { return b.size() >= 3 && b[0] == 0xFF && b[1] == 0xD8 && b[2] == 0xFF; }

Image decode_png(const fs::path& file, const Bytes& bytes, bool header_only) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, decltype(&png_image_free)> guard(&png, png_image_free);
  if (!png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()))
    fail(file, std::string("not a readable PNG: ") + png.message);
  require_size(file, png.width, png.height);
  Image image;
  image.width = int(png.width);
  image.height = int(png.height);
  image.has_alpha = (png.format & PNG_FORMAT_FLAG_ALPHA) != 0;
  if (header_only) return image;
  // Deflate makes 1032 bytes of one at most, and a row has a bit a pixel at least.
  if (int64_t(png.width) * png.height / 8 > 1032 * int64_t(bytes.size()))
    fail(file, "damaged or truncated PNG: too short for the size it says it has");
  png.format = PNG_FORMAT_RGBA;
  png.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // 16-bit files hold sRGB values too, not linear light
  image.rgba.resize(PNG_IMAGE_SIZE(png));
  if (!png_image_finish_read(&png, nullptr, image.rgba.data(), 0, nullptr))
    fail(file, std::string("damaged or truncated PNG: ") + png.message);
  return image;
}

struct JpegErrors {
  jpeg_error_mgr base;
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
};

void on_jpeg_error(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  errors->base.format_message(info, errors->message);
  std::longjmp(errors->jump, 1);
}

// libjpeg only warns about missing data and fills with gray. For a training image that is an error.
void on_jpeg_message(j_common_ptr info, int level) {
  if (level < 0) on_jpeg_error(info);
}

// longjmp leaves this function without running destructors: everything that owns memory lives in the caller.
bool decode_jpeg_into(const Bytes& bytes, bool header_only, Image& image, Bytes& row,
                      jpeg_decompress_struct& jpeg, JpegErrors& errors) {
  if (setjmp(errors.jump)) return false;
  jpeg_mem_src(&jpeg, bytes.data(), static_cast<unsigned long>(bytes.size()));
  jpeg_read_header(&jpeg, TRUE);
  image.width = int(jpeg.image_width);
  image.height = int(jpeg.image_height);
  if (header_only) return true;
  const bool gray = jpeg.jpeg_color_space == JCS_GRAYSCALE;
  jpeg.out_color_space = gray ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_start_decompress(&jpeg);
  const int channels = jpeg.output_components;
  image.rgba.resize(size_t(image.width) * size_t(image.height) * 4);
  row.resize(size_t(image.width) * size_t(channels));
  uint8_t* out = image.rgba.data();
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW line = row.data();
    jpeg_read_scanlines(&jpeg, &line, 1);
    for (int x = 0; x < image.width; ++x, out += 4) {
      for (int c = 0; c < 3; ++c) out[c] = row[size_t(x) * size_t(channels) + size_t(gray ? 0 : c)];
      out[3] = 255;
    }
  }
  jpeg_finish_decompress(&jpeg);
  return true;
}

Image decode_jpeg(const fs::path& file, const Bytes& bytes, bool header_only) {
  jpeg_decompress_struct jpeg{};
  JpegErrors errors{};
  jpeg.err = jpeg_std_error(&errors.base);
  errors.base.error_exit = on_jpeg_error;
  errors.base.emit_message = on_jpeg_message;
  jpeg_create_decompress(&jpeg);
  const std::unique_ptr<jpeg_decompress_struct, decltype(&jpeg_destroy_decompress)> guard(
      &jpeg, jpeg_destroy_decompress);
  Image image;
  Bytes row;
  if (!decode_jpeg_into(bytes, header_only, image, row, jpeg, errors))
    fail(file, std::string("damaged or truncated JPEG: ") + errors.message);
  require_size(file, uint32_t(image.width), uint32_t(image.height));
  return image;
}

Image decode(const fs::path& file, bool header_only) {
  const Bytes bytes = read_whole(file);
  if (is_png(bytes)) return decode_png(file, bytes, header_only);
  if (is_jpeg(bytes)) return decode_jpeg(file, bytes, header_only);
  fail(file, "neither PNG nor JPEG; convert it to one of them");
}

}  // namespace

ImageSize image_size(const fs::path& file) {
  const Image image = decode(file, true);
  return {image.width, image.height};
}

Image load_image(const fs::path& file) {
  const ImageSize size = image_size(file);
  require_memory(6 * int64_t(size.width) * size.height, "reading " + file.string(),
                 "make the picture smaller first");
  return decode(file, false);
}

Image downscale(const Image& image, int factor) {
  if (factor == 1) return image;
  Image small;
  small.width = factor > 0 ? image.width / factor : 0;
  small.height = factor > 0 ? image.height / factor : 0;
  if (small.width < 1 || small.height < 1)
    throw std::invalid_argument("an image of " + std::to_string(image.width) + "x" +
                                std::to_string(image.height) + " cannot be downscaled by " +
                                std::to_string(factor));
  small.has_alpha = image.has_alpha;
  small.rgba.resize(size_t(small.width) * size_t(small.height) * 4);
  const int area = factor * factor;
  for (int y = 0; y < small.height; ++y) {
    for (int x = 0; x < small.width; ++x) {
      int64_t color[3] = {0, 0, 0};
      int64_t alpha = 0;
      for (int j = 0; j < factor; ++j) {
        for (int i = 0; i < factor; ++i) {
          const uint8_t* p = image.at(x * factor + i, y * factor + j);
          for (int c = 0; c < 3; ++c) color[c] += int64_t(p[c]) * p[3];
          alpha += p[3];
        }
      }
      uint8_t* out = small.rgba.data() + (size_t(y) * size_t(small.width) + size_t(x)) * 4;
      for (int c = 0; c < 3; ++c) out[c] = alpha ? uint8_t((color[c] + alpha / 2) / alpha) : uint8_t(0);
      out[3] = uint8_t((alpha + area / 2) / area);
    }
  }
  return small;
}

void save_png(const fs::path& file, int width, int height, int channels, std::span<const uint8_t> pixels) {
  if (pixels.size() != size_t(width) * size_t(height) * size_t(channels))
    throw std::invalid_argument("save_png: " + file.string() + ": pixels do not fill the size");
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.width = png_uint_32(width);
  png.height = png_uint_32(height);
  png.format = channels == 1 ? PNG_FORMAT_GRAY : channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
  AtomicFile out(file);
  if (!png_image_write_to_file(&png, out.temporary().c_str(), 0, pixels.data(), 0, nullptr))
    fail(file, std::string("cannot be written: ") + png.message);
  out.commit();
}

}  // namespace klab
