// Fills the page's frame: still picture, panel, blocks of bytes, shaders, script.
#include "labs/radiance/export/page.h"

#include <fmt/format.h>
#include <png.h>

#include <cmath>
#include <map>
#include <stdexcept>

#include "harness/report/base64.h"
#include "harness/report/ladder_view.h"
#include "labs/radiance/export/assets.h"
#include "labs/radiance/scene/image.h"

namespace klab {
namespace {

constexpr Vec3 kTarget{0.5F, 0.5F, 0.4F};  // as klab render's circle

std::vector<uint8_t> png_of(const Picture& picture) {
  std::vector<uint8_t> rgb(picture.rgb.size());
  for (size_t i = 0; i < rgb.size(); ++i) rgb[i] = to_byte(picture.rgb[i]);
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.width = png_uint_32(picture.width);
  png.height = png_uint_32(picture.height);
  png.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(png);
  std::vector<uint8_t> bytes(size);
  if (png_image_write_to_memory(&png, bytes.data(), &size, 0, rgb.data(), 0, nullptr) == 0)
    throw std::runtime_error(fmt::format("the still picture cannot be written: {}", png.message));
  bytes.resize(size);
  return bytes;
}

/// Returns JSON that may stand in a script element: no "<" can begin a tag.
std::string json_in_page(const nlohmann::json& value) {
  std::string out;
  for (const char c : value.dump())
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  return out;
}

std::string block(const std::string& name, const std::string& text) {
  return fmt::format("<script type=\"text/plain\" id=\"block-{}\">{}</script>\n", name, text);
}

/// Replaces each {{name}} of the frame. Values are not searched again.
std::string filled(std::string_view frame, const std::map<std::string, std::string, std::less<>>& values) {
  std::string out;
  size_t at = 0;
  for (size_t open; (open = frame.find("{{", at)) != std::string_view::npos;) {
    const size_t close = frame.find("}}", open);
    out += frame.substr(at, open - at);
    out += values.find(frame.substr(open + 2, close - open - 2))->second;
    at = close + 2;
  }
  out += frame.substr(at);
  return out;
}

}  // namespace

Camera PageView::camera(int side) const {
  const double ring = std::sqrt(std::max(0.0, 1 - height * height));
  const Vec3 direction{float(ring), 0, float(height)};
  return look_at(kTarget + float(distance) * direction, kTarget, side, side, float(fov * M_PI / 180));
}

nlohmann::json PageView::json() const {
  return {{"azimuth", 0},
          {"elevation", std::asin(height)},
          {"distance", distance},
          {"fov", fov * M_PI / 180},
          {"target", {kTarget.x, kTarget.y, kTarget.z}}};
}

std::string page_html(const PageField& field, const PageView& view, const Picture& still, bool black,
                      const PageText& text) {
  nlohmann::json settings = field.settings;
  settings["camera"] = view.json();
  settings["defines"]["BACKGROUND"] = black ? "0.0" : "1.0";
  std::string blocks = block("field", json_in_page(settings)) + block("harmonics", viewer::harmonics()) +
                       block("shader", field.shader);
  if (field.has_rays) blocks += block("common", viewer::common_shader());
  for (const auto& [name, bytes] : field.blocks) blocks += block(name, base64(bytes));
  std::string facts;
  for (const auto& [name, value] : text.facts)
    facts += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", escaped(name), escaped(value));
  return filled(viewer::html(),
                {{"title", escaped(text.title)},
                 {"background", black ? "#000" : "#fff"},
                 {"still", base64(png_of(still))},
                 {"facts", facts},
                 {"blocks", blocks},
                 {"script", (field.has_rays ? "" : viewer::splat_script()) + std::string(viewer::script())}});
}

}  // namespace klab
