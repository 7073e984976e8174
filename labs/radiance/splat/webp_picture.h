// Pictures of bytes as lossless WebP, by libwebp where klab was built with it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace klab {

struct WebpPicture {
  int64_t width = 0, height = 0;
  std::vector<uint8_t> rgba;  // [height, width, 4]
};

/// Returns whether klab was built with libwebp.
bool has_webp();

/// Returns the file of a picture. All its bytes stay as they are, also where alpha is 0. Throws std::runtime_error without libwebp, and
/// for sides of more than 16383 pixels.
std::vector<uint8_t> webp_of(const WebpPicture& picture);

/// Returns the picture of a file. Throws std::runtime_error, a sentence about it, for one that is no WebP, is damaged, or has more
/// than `most` pixels, and without libwebp.
WebpPicture picture_of_webp(std::span<const uint8_t> file, int64_t most);

}  // namespace klab
