#include "labs/radiance/scene/jpeg.h"

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
// After <cstdio>: jpeglib.h uses FILE without declaring it.
#include <jpeglib.h>
// After jpeglib.h.
#include <jerror.h>

#include "harness/records/refused.h"

namespace klab {
namespace {

namespace fs = std::filesystem;
using JpegBytes = std::vector<uint8_t>;

struct JpegErrors {
  jpeg_error_mgr base;
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
  long extra_bytes;  // between the file's parts
};

constexpr long kMostExtraBytes = 1024;  // more are a sign of damage

void on_jpeg_error(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  errors->base.format_message(info, errors->message);
  std::longjmp(errors->jump, 1);
}

/// libjpeg only warns about missing data and fills with gray. For a training image that is an error. Harmless are
/// bytes too many before a marker, and revisions or transforms that it does not know.
void on_jpeg_message(j_common_ptr info, int level) {
  if (level >= 0) return;
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  if (errors->base.msg_code == JWRN_JFIF_MAJOR || errors->base.msg_code == JWRN_ADOBE_XFORM) return;
  if (errors->base.msg_code == JWRN_EXTRANEOUS_DATA) {
    errors->extra_bytes += errors->base.msg_parm.i[0];
    if (errors->extra_bytes <= kMostExtraBytes) return;
  }
  on_jpeg_error(info);
}

/// Input and output of decode_into(). That function leaves by longjmp, without running destructors, so all
/// memory is owned here.
struct Work {
  const JpegBytes& bytes;
  int denominator;  // 0: the header only
  Image image{};
  int orientation = 1;
  JpegBytes row{};
};

/// Returns whether zeros stand before the end marker, `end` being the offset behind it. libjpeg reads over them in
/// silence. The last byte of the data is filled up with ones, and two zero bytes there are none of the picture's.
bool zeros_before_end(const JpegBytes& bytes, size_t end) {
  return end >= 5 && bytes[end - 2] == 0xFF && bytes[end - 1] == 0xD9 && bytes[end - 3] == 0 &&
         bytes[end - 4] == 0 && bytes[end - 5] != 0xFF;
}

bool decode_into(Work& work, jpeg_decompress_struct& jpeg, JpegErrors& errors) {
  if (setjmp(errors.jump)) return false;
  jpeg_mem_src(&jpeg, work.bytes.data(), static_cast<unsigned long>(work.bytes.size()));
  jpeg_save_markers(&jpeg, JPEG_APP0 + 1, 0xFFFF);
  jpeg_read_header(&jpeg, TRUE);
  Image& image = work.image;
  image.width = int(jpeg.image_width);
  image.height = int(jpeg.image_height);
  for (jpeg_saved_marker_ptr marker = jpeg.marker_list; marker != nullptr; marker = marker->next)
    if (work.orientation == 1) work.orientation = exif_orientation(marker->data, marker->data_length);
  if (work.denominator == 0) return true;
  const bool gray = jpeg.jpeg_color_space == JCS_GRAYSCALE;
  jpeg.out_color_space = gray ? JCS_GRAYSCALE : JCS_RGB;
  jpeg.scale_num = 8 / unsigned(work.denominator);
  jpeg.scale_denom = 8;
  jpeg_start_decompress(&jpeg);
  image.width = int(jpeg.output_width);
  image.height = int(jpeg.output_height);
  const int channels = jpeg.output_components;
  image.rgba.resize(size_t(image.width) * size_t(image.height) * 4);
  work.row.resize(size_t(image.width) * size_t(channels));
  uint8_t* out = image.rgba.data();
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW line = work.row.data();
    jpeg_read_scanlines(&jpeg, &line, 1);
    for (int x = 0; x < image.width; ++x, out += 4) {
      for (int c = 0; c < 3; ++c) out[c] = work.row[size_t(x) * size_t(channels) + size_t(gray ? 0 : c)];
      out[3] = 255;
    }
  }
  jpeg_finish_decompress(&jpeg);
  if (zeros_before_end(work.bytes, work.bytes.size() - jpeg.src->bytes_in_buffer)) errors.extra_bytes += 2;
  return true;
}

void decode(const fs::path& file, Work& work) {
  jpeg_decompress_struct jpeg{};
  JpegErrors errors{};
  jpeg.err = jpeg_std_error(&errors.base);
  errors.base.error_exit = on_jpeg_error;
  errors.base.emit_message = on_jpeg_message;
  jpeg_create_decompress(&jpeg);
  const std::unique_ptr<jpeg_decompress_struct, decltype(&jpeg_destroy_decompress)> guard(
      &jpeg, jpeg_destroy_decompress);
  if (!decode_into(work, jpeg, errors))
    throw Refused(file, "JPEG", "damaged or truncated JPEG: " + std::string(errors.message),
                  "copy the picture again, or take it out of the scene");
  work.image.extra_bytes = errors.extra_bytes > 0;
}

}  // namespace

int exif_orientation(const uint8_t* data, size_t size) {
  constexpr size_t kBefore = 6, kEntry = 12;  // "Exif\0\0"; bytes of a field
  constexpr uint32_t kOrientation = 0x0112, kShort = 3;
  if (size < kBefore + 8 || std::memcmp(data, "Exif\0", 6) != 0) return 1;
  const uint8_t* tiff = data + kBefore;
  const size_t left = size - kBefore;
  const bool little = tiff[0] == 'I';
  if (tiff[0] != tiff[1] || (tiff[0] != 'I' && tiff[0] != 'M')) return 1;
  const auto number = [&](size_t at, size_t bytes) {  // 0 after the end
    uint32_t value = 0;
    if (at + bytes > left) return value;
    for (size_t k = 0; k < bytes; ++k) value |= uint32_t(tiff[at + k]) << 8 * (little ? k : bytes - 1 - k);
    return value;
  };
  if (number(2, 2) != 42) return 1;
  const size_t directory = number(4, 4), fields = number(directory, 2);
  for (size_t i = 0; i < fields; ++i) {
    const size_t at = directory + 2 + i * kEntry;
    if (at + kEntry > left) return 1;
    if (number(at, 2) != kOrientation) continue;
    const uint32_t value = number(at + 8, 2);
    return number(at + 2, 2) == kShort && value >= 1 && value <= 8 ? int(value) : 1;
  }
  return 1;
}

PictureHeader jpeg_header(const fs::path& file, const JpegBytes& bytes) {
  Work work{.bytes = bytes, .denominator = 0};
  decode(file, work);
  return {.stored = {work.image.width, work.image.height}, .orientation = work.orientation, .jpeg = true};
}

Image decode_jpeg(const fs::path& file, const JpegBytes& bytes, int denominator) {
  Work work{.bytes = bytes, .denominator = denominator};
  decode(file, work);
  return std::move(work.image);
}

}  // namespace klab
