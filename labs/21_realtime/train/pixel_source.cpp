#include "labs/21_realtime/train/pixel_source.h"

#include <algorithm>
#include <numeric>

namespace klab {

std::vector<int32_t> pixels_by_rows(int width, int height) {
  std::vector<int32_t> pixels(static_cast<size_t>(width) * size_t(height));
  std::iota(pixels.begin(), pixels.end(), 0);
  return pixels;
}

std::vector<int32_t> pixels_by_squares(int width, int height, std::span<const uint8_t> marks) {
  constexpr int kSide = 8;
  std::vector<int32_t> pixels;
  pixels.reserve(static_cast<size_t>(width) * size_t(height));
  for (int top = 0; top < height; top += kSide)
    for (int left = 0; left < width; left += kSide)
      for (int y = top; y < std::min(top + kSide, height); ++y)
        for (int x = left; x < std::min(left + kSide, width); ++x)
          if (const int32_t pixel = y * width + x; marks.empty() || marks[size_t(pixel)] != 0)
            pixels.push_back(pixel);
  return pixels;
}

}  // namespace klab
