#include "labs/radiance/scene/image.h"

#include <png.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>

#include "harness/records/atomic_file.h"
#include "harness/records/foreign_file.h"
#include "harness/records/input.h"
#include "harness/records/memory_left.h"
#include "harness/records/numbers.h"
#include "harness/records/refused.h"
#include "labs/radiance/scene/jpeg.h"

namespace klab {
namespace {

namespace fs = std::filesystem;
using ImageBytes = std::vector<uint8_t>;

constexpr const char* kCopyAgain = "copy the picture again, or take it out of the scene";

[[noreturn]] void fail(const fs::path& file, const std::string& field, const std::string& what,
                       const std::string& remedy = kCopyAgain) {
  throw Refused(file, field, what, remedy);
}

constexpr int64_t kMostBytesImage = 2'000'000'000;  // of a file

ImageBytes read_whole(const fs::path& file) {
  ImageBytes bytes = read_bytes(file, kMostBytesImage);
  if (bytes.empty()) fail(file, "picture", "the picture is empty");
  return bytes;
}

void require_size(const fs::path& file, uint32_t width, uint32_t height) {
  if (!within(width, range::picture_side) || !within(height, range::picture_side))
    fail(file, "side",
         "says that it is " + std::to_string(width) + "x" + std::to_string(height) + "; a side must be " +
             text_of(range::picture_side));
}

bool is_png(const ImageBytes& b) {
  return b.size() >= 8 && std::memcmp(b.data(), "\x89PNG\r\n\x1a\n", 8) == 0;
}
bool is_jpeg(const ImageBytes& b) { return b.size() >= 3 && b[0] == 0xFF && b[1] == 0xD8 && b[2] == 0xFF; }

Image decode_png(const fs::path& file, const ImageBytes& bytes, bool header_only) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, decltype(&png_image_free)> guard(&png, png_image_free);
  if (!png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()))
    fail(file, "PNG", std::string("not a readable PNG: ") + png.message);
  require_size(file, png.width, png.height);
  Image image;
  image.width = int(png.width);
  image.height = int(png.height);
  image.has_alpha = (png.format & PNG_FORMAT_FLAG_ALPHA) != 0;
  if (header_only) return image;
  // Deflate expands a byte to 1032 at most, and a row has at least one bit for each pixel.
  if (int64_t(png.width) * png.height / 8 > 1032 * int64_t(bytes.size()))
    fail(file, "PNG", "damaged or truncated PNG: too short for the size it says it has");
  png.format = PNG_FORMAT_RGBA;
  png.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // 16-bit files hold sRGB values too, not linear light
  image.rgba.resize(PNG_IMAGE_SIZE(png));
  if (!png_image_finish_read(&png, nullptr, image.rgba.data(), 0, nullptr))
    fail(file, "PNG", std::string("damaged or truncated PNG: ") + png.message);
  return image;
}

PictureHeader header_of(const fs::path& file, const ImageBytes& bytes) {
  PictureHeader header;
  if (is_png(bytes)) {
    const Image image = decode_png(file, bytes, true);
    header.stored = {image.width, image.height};
  } else if (is_jpeg(bytes)) {
    header = jpeg_header(file, bytes);
    require_size(file, uint32_t(header.stored.width), uint32_t(header.stored.height));
  } else {
    const auto foreign =
        foreign_file({reinterpret_cast<const char*>(bytes.data()), std::min<size_t>(bytes.size(), 256)});
    fail(file, "format",
         "its format is neither PNG nor JPEG" + (foreign ? ": it is " + foreign->what : std::string()),
         foreign ? foreign->remedy : "convert it to one of them");
  }
  return header;
}

[[noreturn]] void nothing_left(int width, int height, int factor) {
  throw std::invalid_argument("an image of " + std::to_string(width) + "x" + std::to_string(height) +
                              " cannot be downscaled by " + std::to_string(factor));
}

/// Returns the factor of a reduction that the JPEG decoder takes over: 1, 2, 4 or 8.
int by_decoder(int reduce) { return std::gcd(reduce, 8); }

/// Returns the upper left part of a picture.
Image cropped(Image image, int width, int height) {
  if (width == image.width && height == image.height) return image;
  Image part{.width = width, .height = height, .has_alpha = image.has_alpha, .rgba = {}};
  part.rgba.reserve(size_t(width) * size_t(height) * 4);
  for (int y = 0; y < height; ++y)
    part.rgba.insert(part.rgba.end(), image.at(0, y), image.at(0, y) + 4 * std::ptrdiff_t(width));
  return part;
}

Image load_jpeg(const fs::path& file, const ImageBytes& bytes, const PictureHeader& header,
                const Decoding& how) {
  const int orientation = how.as_stored ? 1 : header.orientation;
  const auto [width, height] = header.stored;
  int decoder = by_decoder(how.reduce);
  // The decoder's last pixel of a row may be a partial one. After a turn it would be the first.
  if (orientation != 1 && (width % decoder != 0 || height % decoder != 0)) decoder = 1;
  Image image = decode_jpeg(file, bytes, decoder);
  const bool extra_bytes = image.extra_bytes;
  const int rest = how.reduce / decoder;
  // Without a turn, cut the remainder and the partial pixel here; else downscale() cuts it off when the
  // picture is upright.
  if (decoder > 1 && orientation == 1)
    image = cropped(std::move(image), width / how.reduce * rest, height / how.reduce * rest);
  Image out = downscale(turned_upright(image, orientation), rest);
  out.extra_bytes = extra_bytes;
  return out;
}

}  // namespace

PictureHeader picture_header(const fs::path& file) { return header_of(file, read_whole(file)); }

ImageSize image_size(const fs::path& file) { return picture_header(file).upright(); }

int64_t bytes_to_load(ImageSize stored, int reduce, bool is_jpeg) {
  const int64_t pixels = int64_t(stored.width) * stored.height, decoder = is_jpeg ? by_decoder(reduce) : 1;
  return 6 * pixels / (decoder * decoder) + (is_jpeg ? pixels : 0);  // with the bytes of the file
}

Image load_image(const fs::path& file, const Decoding& how) {
  const ImageBytes bytes = read_whole(file);
  const PictureHeader header = header_of(file, bytes);
  const auto [width, height] = header.stored;
  if (how.reduce < 1 || width / how.reduce < 1 || height / how.reduce < 1)
    nothing_left(width, height, how.reduce);
  require_memory(bytes_to_load(header.stored, how.reduce, is_jpeg(bytes)), "reading " + file.string(),
                 "make the picture smaller first");
  if (is_jpeg(bytes)) return load_jpeg(file, bytes, header, how);
  return downscale(decode_png(file, bytes, false), how.reduce);
}

Image turned_upright(const Image& stored, int orientation) {
  if (orientation <= 1 || orientation > 8) return stored;
  const bool exchanged = orientation >= 5;
  const int w = stored.width, h = stored.height;
  Image out{
      .width = exchanged ? h : w, .height = exchanged ? w : h, .has_alpha = stored.has_alpha, .rgba = {}};
  out.rgba.resize(stored.rgba.size());
  uint8_t* to = out.rgba.data();
  for (int y = 0; y < out.height; ++y)
    for (int x = 0; x < out.width; ++x, to += 4) {
      int column = exchanged ? y : x, row = exchanged ? x : y;
      if (orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8)
        column = w - 1 - column;
      if (orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7) row = h - 1 - row;
      std::copy_n(stored.at(column, row), 4, to);
    }
  return out;
}

Image downscale(const Image& image, int factor) {
  if (factor == 1) return image;
  Image small;
  small.width = factor > 0 ? image.width / factor : 0;
  small.height = factor > 0 ? image.height / factor : 0;
  if (small.width < 1 || small.height < 1) nothing_left(image.width, image.height, factor);
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
    throw std::runtime_error("image " + file.string() + ": cannot be written: " + png.message);
  out.commit();
}

}  // namespace klab
