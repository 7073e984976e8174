// JPEG files, by libjpeg. Only image.cpp needs this.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "labs/radiance/scene/image.h"

namespace klab {

/// Reads the size and the EXIF orientation; a damaged or unknown orientation is 1. Throws
/// Refused.
PictureHeader jpeg_header(const std::filesystem::path& file, const std::vector<uint8_t>& bytes);

/// Decodes as stored, at 1/`denominator` (1, 2, 4 or 8) of the size in each direction, rounded up. Throws
/// Refused, also if pixels are missing: libjpeg alone would fill them with gray. A few bytes too many between the
/// file's parts, which cameras write, are passed over and said in Image::extra_bytes.
Image decode_jpeg(const std::filesystem::path& file, const std::vector<uint8_t>& bytes, int denominator);

/// Returns the tag 0x0112 in the EXIF data of a marker APP1, which begins with "Exif\0\0"; 1 if there is none
/// from 1 to 8.
int exif_orientation(const uint8_t* data, size_t size);

}  // namespace klab
