// Bytes as text that a page can hold.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

namespace klab {

/// Returns the bytes in base64 (RFC 4648), padded.
inline std::string base64(std::span<const uint8_t> bytes) {
  constexpr const char* digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t left = std::min<size_t>(3, bytes.size() - i);
    uint32_t three = uint32_t(bytes[i]) << 16;
    if (left > 1) three |= uint32_t(bytes[i + 1]) << 8;
    if (left > 2) three |= bytes[i + 2];
    for (size_t d = 0; d < 4; ++d) text += d <= left ? digits[three >> (18 - 6 * d) & 63] : '=';
  }
  return text;
}

}  // namespace klab
