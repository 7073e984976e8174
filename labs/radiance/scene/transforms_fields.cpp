#include "labs/radiance/scene/transforms_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/records/input.h"

namespace klab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

[[noreturn]] void refuse_field(const fs::path& file, const std::string& what) {
  throw std::runtime_error(file.string() + ": " + what);
}

}  // namespace

std::optional<double> optional_number(const fs::path& file, const json& object, const char* key,
                                      Range range) {
  const auto at = object.find(key);
  if (at == object.end()) return std::nullopt;
  return number_of<double>(*at, key, range, file.string());
}

std::array<float, 12> pose_of(const fs::path& file, const json& frame, const std::string& name) {
  const auto at = frame.find("transform_matrix");
  if (at == frame.end()) refuse_field(file, fmt::format("frame {} has no \"transform_matrix\"", name));
  std::array<float, 12> pose{};
  const json& rows = *at;
  const auto bad = [&](const std::string& why) {
    refuse_field(
        file, fmt::format("frame {}: \"transform_matrix\" {}; it must be a rigid 4x4 camera-to-world matrix",
                          name, why));
  };
  if (!rows.is_array() || rows.size() != 4) bad("does not have 4 rows");
  for (size_t r = 0; r < 4; ++r) {
    if (!rows[r].is_array() || rows[r].size() != 4) bad(fmt::format("row {} does not have 4 numbers", r));
    for (size_t c = 0; c < 4; ++c) {
      if (!rows[r][c].is_number()) bad(fmt::format("element [{}][{}] is not a number", r, c));
      const double v = rows[r][c].get<double>();
      if (!within(v, range::pose))
        bad(fmt::format("element [{}][{}] is not finite, or not {}", r, c, text_of(range::pose)));
      if (r < 3) pose[r * 4 + c] = float(v);
      if (r == 3 && std::abs(v - (c == 3 ? 1 : 0)) > 1e-4) bad("has a last row other than 0 0 0 1");
    }
  }
  const auto column = [&](size_t c) { return Vec3{pose[c], pose[4 + c], pose[8 + c]}; };
  const Vec3 x = column(0), y = column(1), z = column(2);
  const float off = std::max({std::abs(dot(x, x) - 1), std::abs(dot(y, y) - 1), std::abs(dot(z, z) - 1),
                              std::abs(dot(x, y)), std::abs(dot(y, z)), std::abs(dot(z, x))});
  if (!(off <= 1e-2F)) bad("is not rigid: its columns are not orthonormal");
  if (!(dot(cross(x, y), z) > 0)) bad("mirrors (its determinant is negative)");
  return pose;
}

void refuse_other_lenses(const fs::path& file, const json& object) {
  const auto refuse = [&](const std::string& what) {
    refuse_field(
        file,
        what +
            " is a lens klab does not know: it knows pinholes with OpenCV's k1, k2, p1, p2 and its fisheye "
            "(undistort the pictures first, for instance with COLMAP's image_undistorter)");
  };
  if (const auto model = object.find("camera_model"); model != object.end()) {
    const std::string text = model->is_string() ? model->get<std::string>() : model->dump();
    if (text != "PERSPECTIVE" && lens_model(text) == nullptr)
      refuse_field(file, fmt::format("\"camera_model\" is {}", unknown_lens(text)));
  }
  for (const char* key : {"latlong", "equirectangular", "lightfield"})
    if (const auto at = object.find(key); at != object.end() && *at != false && *at != 0)
      refuse(fmt::format("\"{}\" {}", key, excerpt(at->dump())));
  for (const char* key : {"k5", "k6", "ftheta_p0", "ftheta_p1"})
    if (const double value = optional_number(file, object, key, {-1e300, 1e300}).value_or(0); value != 0)
      refuse(fmt::format("\"{}\" {}", key, value));
}

namespace {

/// Returns "camera_model" of the frame, else of the document; empty if neither has one.
std::string model_in(const json& document, const json& frame) {
  for (const json* object : {&frame, &document})
    if (const auto at = object->find("camera_model"); at != object->end() && at->is_string())
      return at->get<std::string>();
  return "";
}

bool is_fisheye(const json& document, const json& frame) {
  if (model_in(document, frame).find("FISHEYE") != std::string::npos) return true;
  for (const json* object : {&frame, &document})
    if (const auto at = object->find("is_fisheye"); at != object->end()) return *at != false && *at != 0;
  return false;
}

}  // namespace

std::string file_name_of(const fs::path& file, const json& value, const std::string& what) {
  constexpr size_t kLongestName = 1000;
  if (!value.is_string()) refuse_field(file, what + " is no text");
  std::string name = value.get<std::string>();
  if (name.size() > kLongestName || name.find('\0') != std::string::npos)
    refuse_field(file, what + " is no name of a file");
  return name;
}

void require_matrix(const fs::path& file, const json& document, const char* key) {
  const auto at = document.find(key);
  if (at == document.end()) return;
  bool good = at->is_array() && (at->size() == 3 || at->size() == 4);
  for (size_t r = 0; good && r < at->size(); ++r) {
    good = (*at)[r].is_array() && (*at)[r].size() == 4;
    for (size_t c = 0; good && c < 4; ++c) good = (*at)[r][c].is_number();
  }
  if (!good) refuse_field(file, fmt::format("\"{}\" must be 3 or 4 rows of 4 numbers", key));
}

std::string lens_name(const json& document, const json& frame, const Lens& lens) {
  const std::string model = model_in(document, frame);
  if (!model.empty()) return model;
  return lens.fisheye ? "OPENCV_FISHEYE" : lens.camera.distorts() ? "OPENCV" : "PINHOLE";
}

Lens lens_in(const fs::path& file, const json& document, const json& frame, ImageSize size) {
  const auto field = [&](const char* key, Range range) {
    const auto own = optional_number(file, frame, key, range);
    return own ? own : optional_number(file, document, key, range);
  };
  const auto times = [](Range sides, double pixels) {
    return Range{sides.low * pixels, sides.high * pixels};
  };
  Lens lens;
  Camera& c = lens.camera;
  c.width = size.width;
  c.height = size.height;
  // A document may describe the original pictures while the folder holds reduced copies: scale the
  // intrinsics.
  const double w = field("w", range::picture_side).value_or(size.width);
  const double h = field("h", range::picture_side).value_or(size.height);
  const double sx = size.width / w, sy = size.height / h;
  const auto focal = [&](const char* length, const char* angle, double said,
                         double pixels) -> std::optional<double> {
    if (const auto f = field(length, times(range::focal_sides, said))) return *f * pixels / said;
    const auto a = field(angle, range::angle);
    if (!a) return std::nullopt;
    return 0.5 * pixels / std::tan(0.5 * *a);
  };
  const auto fx = focal("fl_x", "camera_angle_x", w, size.width);
  const auto fy = focal("fl_y", "camera_angle_y", h, size.height);
  if (!fx && !fy)
    refuse_field(file, "gives no focal length: add \"camera_angle_x\" (radians) or \"fl_x\" (pixels)");
  c.fx = float(fx ? *fx : *fy);
  c.fy = float(fy ? *fy : *fx);
  c.cx = float(field("cx", times(range::center_sides, w)).value_or(0.5 * w) * sx);
  c.cy = float(field("cy", times(range::center_sides, h)).value_or(0.5 * h) * sy);
  const auto bend = [&](const char* key, Range range) { return float(field(key, range).value_or(0)); };
  const float k[] = {bend("k1", range::radial), bend("k2", range::radial), bend("k3", range::radial),
                     bend("k4", range::radial)};
  const float p1 = bend("p1", range::tangential), p2 = bend("p2", range::tangential);
  const bool fisheye = is_fisheye(document, frame);
  const auto unused = [&](const char* key, float value) {
    if (value != 0)
      refuse_field(
          file,
          fmt::format("\"{}\" is {}, which {} does not have: undistort the pictures first, for instance "
                      "with COLMAP's image_undistorter",
                      key, value, fisheye ? "a lens of wide angle here" : "klab's lens of k1, k2, p1, p2"));
  };
  if (fisheye) {
    unused("p1", p1), unused("p2", p2);
    lens.fisheye = Fisheye{k[0], k[1], k[2], k[3]};
  } else {
    unused("k3", k[2]), unused("k4", k[3]);
    c.k1 = k[0], c.k2 = k[1], c.p1 = p1, c.p2 = p2;
  }
  return lens;
}

}  // namespace klab
