// JPEG files for tests, with an EXIF orientation where one is wanted.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>
// After <cstdio>, for jpeglib.h uses FILE without declaring it.
#include <cstdio>

#include <jpeglib.h>

namespace klab {

/// EXIF data that hold one field, the orientation, as a marker APP1 has them.
inline std::string exif_with(int orientation, bool little) {
  std::string tiff = little ? std::string("II*\0", 4) : std::string("MM\0*", 4);
  const auto add = [&](uint32_t value, int bytes) {
    for (int k = 0; k < bytes; ++k) tiff += char(value >> 8 * (little ? k : bytes - 1 - k));
  };
  add(8, 4);                                          // the first directory is behind this header
  add(2, 2);                                          // and has two fields
  add(0x0100, 2), add(4, 2), add(1, 4), add(640, 4);  // a width without effect here
  add(0x0112, 2), add(3, 2), add(1, 4), add(uint32_t(orientation), 2), add(0, 2);
  add(0, 4);  // no further directory
  return std::string("Exif\0\0", 6) + tiff;
}

/// A baseline JPEG of `rgb` [height,width,3]; orientation 0: without EXIF data.
inline std::string jpeg_of(int width, int height, const std::vector<uint8_t>& rgb, int quality,
                           int orientation = 0, bool little = true) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &bytes, &size);
  jpeg.image_width = JDIMENSION(width);
  jpeg.image_height = JDIMENSION(height);
  jpeg.input_components = 3;
  jpeg.in_color_space = JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, quality, TRUE);
  jpeg.comp_info[0].h_samp_factor = jpeg.comp_info[0].v_samp_factor = 1;
  jpeg_start_compress(&jpeg, TRUE);
  const std::string exif = exif_with(orientation, little);
  if (orientation > 0)
    jpeg_write_marker(&jpeg, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(exif.data()),
                      unsigned(exif.size()));
  for (int y = 0; y < height; ++y) {
    auto* line = const_cast<JSAMPROW>(rgb.data() + size_t(y) * size_t(width) * 3);
    jpeg_write_scanlines(&jpeg, &line, 1);
  }
  jpeg_finish_compress(&jpeg);
  std::string file(reinterpret_cast<char*>(bytes), size);
  jpeg_destroy_compress(&jpeg);
  std::free(bytes);
  return file;
}

}  // namespace klab
