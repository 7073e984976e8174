// Pictures: 8-bit RGBA in memory, PNG and JPEG on disk.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace klab {

/// Row-major, top row first, 4 bytes per pixel (R, G, B, A), sRGB-encoded, alpha not multiplied in.
struct Image {
  int width = 0;
  int height = 0;
  bool has_alpha = false;     // false: every A is 255
  bool extra_bytes = false;   // the file had a few bytes between its parts, which were passed over
  std::vector<uint8_t> rgba;  // [height, width, 4]

  const uint8_t* at(int x, int y) const { return rgba.data() + (size_t(y) * size_t(width) + size_t(x)) * 4; }
};

struct ImageSize {
  int width = 0;
  int height = 0;
};

/// Content of a file's header.
struct PictureHeader {
  ImageSize stored;     // as its rows lie in the file
  int orientation = 1;  // of a JPEG, EXIF's tag 0x0112: 1 to 8, how viewers turn it; 1 if missing
  bool jpeg = false;
  /// The size as viewers show it: orientations from 5 on exchange the sides.
  ImageSize upright() const { return orientation < 5 ? stored : ImageSize{stored.height, stored.width}; }
};

/// Reads the header without decoding pixels. Throws like load_image.
PictureHeader picture_header(const std::filesystem::path& file);

/// Returns the size that load_image(file) gives.
ImageSize image_size(const std::filesystem::path& file);

struct Decoding {
  int reduce = 1;          // reduce it by this factor, like downscale()
  bool as_stored = false;  // ignore the orientation
};

/// Reads a PNG (1, 2, 3 or 4 channels, palette, 8 or 16 bits) or a JPEG (gray or color), recognized by
/// content. A JPEG is turned upright by its EXIF orientation unless `as_stored` is set. If `reduce` is even,
/// the JPEG decoder does a factor of 2, 4 or 8 of it and decodes no more pixels than needed: 12 megapixels by
/// 8 take a fraction of the time and memory, and the result differs from averages by the decoder's filter.
/// Throws Refused (missing, empty, truncated, not an image), and std::invalid_argument if nothing would be left.
Image load_image(const std::filesystem::path& file, const Decoding& how = {});

/// Returns the most bytes that load_image needs for a picture of that stored size, including the result.
int64_t bytes_to_load(ImageSize stored, int reduce, bool is_jpeg);

/// Returns a picture with EXIF orientation `orientation` (1 to 8; 1: unchanged) as viewers show it. (Exif
/// 2.32, JEITA CP-3451X, section 4.6.4: where the 0th row and the 0th column of the file are.)
Image turned_upright(const Image& stored, int orientation);

/// Averages blocks of factor x factor pixels, colors weighted by alpha. A remainder at the right and bottom
/// is cut off, so that intrinsics scale by exactly 1/factor. Throws std::invalid_argument if nothing would be
/// left.
Image downscale(const Image& image, int factor);

/// Writes an 8-bit PNG with `channels` (1, 3 or 4) bytes per pixel under a temporary name, then renames it.
void save_png(const std::filesystem::path& file, int width, int height, int channels,
              std::span<const uint8_t> pixels);

/// Converts [0,1] to a byte, rounded and clipped; NaN becomes 0.
inline uint8_t to_byte(float v) {
  return v >= 1.F ? uint8_t(255) : v > 0.F ? uint8_t(std::lround(v * 255.F)) : uint8_t(0);
}

}  // namespace klab
