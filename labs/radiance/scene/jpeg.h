// JPEG files, by libjpeg. Only image.cpp needs this.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "labs/radiance/scene/image.h"

namespace klab {

/// Size, and the orientation of the EXIF data; an orientation that is damaged, or none of the eight, is 1. Throws
/// std::runtime_error, "image <file>: ...".
PictureHeader jpeg_header(const std::filesystem::path& file, const std::vector<uint8_t>& bytes);

/// As stored, 1/`denominator` (1, 2, 4 or 8) of its size in each direction, rounded up. Throws std::runtime_error,
/// "image <file>: ...", where pixels are missing too: libjpeg alone would fill them with gray.
Image decode_jpeg(const std::filesystem::path& file, const std::vector<uint8_t>& bytes, int denominator);

/// The tag 0x0112 in the EXIF data of a marker APP1, which begin with "Exif\0\0"; 1 where there is none that is from 1 to 8.
int exif_orientation(const uint8_t* data, size_t size);

}  // namespace klab
