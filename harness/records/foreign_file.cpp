#include "harness/records/foreign_file.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace klab {
namespace {

using namespace std::string_view_literals;

struct Beginning {
  std::string_view bytes;
  const char* what;
  const char* remedy;
};

constexpr const char* kConvert = "convert it to PNG or JPEG";

constexpr std::array kBeginnings = {
    Beginning{"version https://git-lfs.github.com/"sv, "a pointer of Git LFS, not the file itself",
              "fetch the files with 'git lfs pull'"},
    Beginning{"\x1F\x8B"sv, "compressed by gzip", "unpack it with gunzip"},
    Beginning{"PK\3\4"sv, "a ZIP archive", "unpack it"},
    Beginning{"\xFF\xFE"sv, "text in UTF-16", "save it as UTF-8"},
    Beginning{"\xFE\xFF"sv, "text in UTF-16", "save it as UTF-8"},
    Beginning{"GIF8"sv, "a GIF picture", kConvert},
    Beginning{"II*\0"sv, "a TIFF picture", kConvert},
    Beginning{"MM\0*"sv, "a TIFF picture", kConvert},
    Beginning{"\x76\x2F\x31\x01"sv, "an OpenEXR picture", kConvert},
    Beginning{"\xFF\x0A"sv, "a JPEG XL picture", kConvert},
    Beginning{"\0\0\0\x0CJXL "sv, "a JPEG XL picture", kConvert},
};

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return out;
}

}  // namespace

std::optional<ForeignFile> foreign_file(std::string_view bytes) {
  for (const Beginning& b : kBeginnings)
    if (bytes.starts_with(b.bytes)) return ForeignFile{b.what, b.remedy};
  if (bytes.starts_with("RIFF") && bytes.size() >= 12 && bytes.substr(8, 4) == "WEBP")
    return ForeignFile{"a WebP picture", kConvert};
  if (bytes.size() >= 12 && bytes.substr(4, 4) == "ftyp") {  // ISO base media: the brand says what is in it
    const std::string_view brand = bytes.substr(8, 4);
    if (brand == "avif" || brand == "avis") return ForeignFile{"an AVIF picture", kConvert};
    if (brand.starts_with("hei") || brand.starts_with("hev") || brand == "mif1")
      return ForeignFile{"a HEIC picture", kConvert};
    return ForeignFile{"a video or a picture of a phone", "take single pictures out of it, as PNG or JPEG"};
  }
  const std::string begin = lower(bytes.substr(0, 64));
  const size_t at = begin.find_first_not_of(" \t\r\n");
  if (at != std::string::npos &&
      (begin.substr(at).starts_with("<!doctype html") || begin.substr(at).starts_with("<html")))
    return ForeignFile{"a page of HTML, not the file itself", "download the file again"};
  return std::nullopt;
}

}  // namespace klab
