#include "labs/radiance/splat/webp_picture.h"

#include <fmt/format.h>

#include <stdexcept>

#ifdef KLAB_HAVE_WEBP
#include <webp/decode.h>
#include <webp/encode.h>
#endif

namespace klab {

#ifdef KLAB_HAVE_WEBP

bool has_webp() { return true; }

std::vector<uint8_t> webp_of(const WebpPicture& picture) {
  if (picture.width > WEBP_MAX_DIMENSION || picture.height > WEBP_MAX_DIMENSION)
    throw std::runtime_error(
        fmt::format("a WebP has at most {} pixels along a side, and this would have {} x {}",
                    WEBP_MAX_DIMENSION, picture.width, picture.height));
  WebPConfig config;
  WebPPicture frame;
  WebPMemoryWriter writer;
  WebPMemoryWriterInit(&writer);
  const bool begun = WebPConfigInit(&config) != 0 && WebPConfigLosslessPreset(&config, 6) != 0 &&
                     WebPPictureInit(&frame) != 0;
  if (!begun) throw std::runtime_error("libwebp has another version than klab was built with");
  config.exact = 1;
  frame.use_argb = 1;
  frame.width = int(picture.width), frame.height = int(picture.height);
  frame.writer = WebPMemoryWrite;
  frame.custom_ptr = &writer;
  const bool done = WebPPictureImportRGBA(&frame, picture.rgba.data(), int(4 * picture.width)) != 0 &&
                    WebPEncode(&config, &frame) != 0;
  std::vector<uint8_t> out;
  if (done) out.assign(writer.mem, writer.mem + writer.size);
  const int error = int(frame.error_code);
  WebPPictureFree(&frame);
  WebPMemoryWriterClear(&writer);
  if (!done) throw std::runtime_error(fmt::format("libwebp cannot write the picture: its error {}", error));
  return out;
}

WebpPicture picture_of_webp(std::span<const uint8_t> file, int64_t most) {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(file.data(), file.size(), &features) != VP8_STATUS_OK)
    throw std::runtime_error("is no WebP, or a damaged one");
  if (features.has_animation != 0) throw std::runtime_error("is a film, not one picture");
  WebpPicture out{features.width, features.height, {}};
  if (out.width * out.height > most)
    throw std::runtime_error(
        fmt::format("has {} x {} pixels, more than its Gaussians need", out.width, out.height));
  out.rgba.resize(size_t(4 * out.width * out.height));
  if (WebPDecodeRGBAInto(file.data(), file.size(), out.rgba.data(), out.rgba.size(), int(4 * out.width)) ==
      nullptr)
    throw std::runtime_error("is a damaged WebP");
  return out;
}

#else

namespace {

[[noreturn]] void refuse_without_webp() { throw std::runtime_error("klab was built without libwebp-dev"); }

}  // namespace

bool has_webp() { return false; }
std::vector<uint8_t> webp_of(const WebpPicture&) { refuse_without_webp(); }
WebpPicture picture_of_webp(std::span<const uint8_t>, int64_t) { refuse_without_webp(); }

#endif

}  // namespace klab
