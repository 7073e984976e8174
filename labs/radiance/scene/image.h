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
  std::vector<uint8_t> rgba;  // [height, width, 4]

  const uint8_t* at(int x, int y) const { return rgba.data() + (size_t(y) * size_t(width) + size_t(x)) * 4; }
};

/// Size of an image without decoding its pixels. Throws like load_image.
struct ImageSize {
  int width = 0;
  int height = 0;
};
ImageSize image_size(const std::filesystem::path& file);

/// Reads a PNG (1, 2, 3 or 4 channels, palette, 8 or 16 bits) or a JPEG (gray or color), told apart by
/// content. Throws std::runtime_error naming the file and what is wrong with it: missing, empty, truncated,
/// not an image.
Image load_image(const std::filesystem::path& file);

/// Averages blocks of factor x factor pixels, colors weighted by alpha. A remainder at the right and bottom
/// is cut off, so that intrinsics scale by exactly 1/factor. Throws std::invalid_argument when nothing would
/// be left.
Image downscale(const Image& image, int factor);

/// Writes an 8-bit PNG with `channels` (1, 3 or 4) bytes per pixel under a temporary name, then renames it.
void save_png(const std::filesystem::path& file, int width, int height, int channels,
              std::span<const uint8_t> pixels);

/// [0,1] to a byte, rounded, clipped; NaN becomes 0.
inline uint8_t to_byte(float v) {
  return v >= 1.F ? uint8_t(255) : v > 0.F ? uint8_t(std::lround(v * 255.F)) : uint8_t(0);
}

}  // namespace klab
