#include "labs/radiance/scene/transforms_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "harness/records/input.h"
#include "harness/records/json_refused.h"
#include "harness/records/refused.h"

namespace klab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

[[noreturn]] void refuse_field(const fs::path& file, const std::string& field, const std::string& what,
                               const std::string& remedy) {
  throw Refused(file, field, what, remedy);
}

/// Describes a value that is no number: "NaN", "null", "'one'".
std::string value_text(const json& value) {
  if (!value.is_string()) return excerpt(value.dump(-1, ' ', false, json::error_handler_t::replace));
  const std::string text = value.get<std::string>();
  return text == "NaN" || text == "Infinity" || text == "-Infinity" ? text : "'" + excerpt(text) + "'";
}

/// Returns whether a 4x4 matrix has 0 0 0 1 as its last column, and a last row that moves.
bool is_transposed(const json& rows) {
  bool column = true, row = true;
  for (const json& r : rows)
    if (!r.is_array() || r.size() != 4) return false;
  for (size_t k = 0; k < 4; ++k) {
    if (!rows[k][3].is_number() || !rows[3][k].is_number()) return false;
    column = column && rows[k][3] == (k == 3 ? 1 : 0);
    row = row && rows[3][k] == (k == 3 ? 1 : 0);
  }
  return column && !row;
}

}  // namespace

std::optional<double> optional_number(const fs::path& file, const json& object, const char* key, Range range,
                                      const std::string& of) {
  const auto at = object.find(key);
  if (at == object.end()) return std::nullopt;
  if (at->is_number())
    if (const double value = at->get<double>(); within(value, range)) return value;
  const std::string field = fmt::format("\"{}\"", key);
  refuse_field(file, field,
               fmt::format("{}{} must be a number {}, found {}", of, field, text_of(range), value_text(*at)),
               "correct it, or take it out");
}

FilePose pose_of(const fs::path& file, const json& frame, const std::string& name) {
  const std::string field = "\"transform_matrix\"", of = "frame " + excerpt(name);
  const auto at = frame.find("transform_matrix");
  if (at == frame.end())
    refuse_field(file, field, fmt::format("{} has no {}", of, field), "add its pose, or take the frame out");
  return pose_of(file, *at, field, of);
}

FilePose pose_of(const fs::path& file, const json& rows, const std::string& field, const std::string& of) {
  const auto bad = [&](const std::string& why,
                       const std::string& remedy = "write a rigid 4x4 camera-to-world matrix") {
    refuse_field(file, field, fmt::format("{}: {} {}", of, field, why), remedy);
  };
  if (rows.is_null()) bad("is null", "take the frame out if its camera was not found");
  if (!rows.is_array() || rows.size() != 4) bad("does not have 4 rows");
  if (is_transposed(rows))
    bad("has 0 0 0 1 as its last column, not as its last row: it is transposed",
        "exchange its rows and columns");
  FilePose out;
  std::array<float, 12>& pose = out.pose;
  for (size_t r = 0; r < 4; ++r) {
    if (!rows[r].is_array() || rows[r].size() != 4) bad(fmt::format("row {} does not have 4 numbers", r));
    for (size_t c = 0; c < 4; ++c) {
      const char* not_found = "take the frame out if its camera was not found";
      if (!rows[r][c].is_number())
        bad(fmt::format("element [{}][{}] is not a number but {}", r, c, value_text(rows[r][c])), not_found);
      const double v = rows[r][c].get<double>();
      if (!within(v, kWorld))
        bad(fmt::format("element [{}][{}] is not finite, or not {}", r, c, text_of(kWorld)), not_found);
      if (r < 3 && c < 3) pose[r * 4 + c] = float(v);
      if (r < 3 && c == 3) out.at[r] = v;
      if (r == 3 && std::abs(v - (c == 3 ? 1 : 0)) > 1e-4) bad("has a last row other than 0 0 0 1");
    }
  }
  const auto column = [&](size_t c) { return Vec3{pose[c], pose[4 + c], pose[8 + c]}; };
  const Vec3 x = column(0), y = column(1), z = column(2);
  const float off = std::max({std::abs(dot(x, x) - 1), std::abs(dot(y, y) - 1), std::abs(dot(z, z) - 1),
                              std::abs(dot(x, y)), std::abs(dot(y, z)), std::abs(dot(z, x))});
  if (!(off <= 1e-2F)) bad("is not rigid: its columns are not orthonormal");
  if (!(dot(cross(x, y), z) > 0)) bad("mirrors (its determinant is negative)");
  return out;
}

json read_transforms_json(const fs::path& file, const std::string& kind) {
  const std::string text = read_input(file);
  std::string quoted;
  bool inside = false;  // of a text
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (inside) {
      quoted += c;
      if (c == '\\' && i + 1 < text.size())
        quoted += text[++i];
      else if (c == '"')
        inside = false;
      continue;
    }
    inside = c == '"';
    const std::string_view rest = std::string_view(text).substr(i);
    bool replaced = false;
    for (const std::string_view w : {"NaN", "Infinity", "-Infinity"})
      if (!inside && rest.starts_with(w)) {
        quoted += '"' + std::string(w) + '"';
        i += w.size() - 1;
        replaced = true;
        break;
      }
    if (!replaced) quoted += c;
  }
  json document = json_or_refuse(quoted, file.string(), "correct it there, or copy the file again");
  if (!document.is_object())
    refuse_field(file, "top level", "holds no JSON object at its top level", "name " + kind);
  return document;
}

void refuse_other_lenses(const fs::path& file, const json& object) {
  const auto refuse = [&](const std::string& field, const std::string& value) {
    refuse_field(
        file, field,
        fmt::format("{} {} is a lens klab does not know: it knows pinholes with OpenCV's k1, k2, p1, p2 and "
                    "its fisheye",
                    field, value),
        kUndistort);
  };
  if (const auto model = object.find("camera_model"); model != object.end()) {
    const std::string text = model->is_string() ? model->get<std::string>() : value_text(*model);
    if (text != "PERSPECTIVE" && lens_model(text) == nullptr)
      refuse_field(file, "\"camera_model\"", fmt::format("\"camera_model\" is {}", unknown_lens(text)),
                   kUndistort);
  }
  for (const char* key : {"latlong", "equirectangular", "lightfield"})
    if (const auto at = object.find(key); at != object.end() && *at != false && *at != 0)
      refuse(fmt::format("\"{}\"", key), value_text(*at));
  for (const char* key : {"k5", "k6", "ftheta_p0", "ftheta_p1"})
    if (const double value = optional_number(file, object, key, {-1e300, 1e300}).value_or(0); value != 0)
      refuse(fmt::format("\"{}\"", key), fmt::format("{}", value));
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
  if (!value.is_string()) refuse_field(file, what, what + " is no text", "write the name of a file");
  std::string name = value.get<std::string>();
  if (name.size() > kLongestName || name.find('\0') != std::string::npos)
    refuse_field(file, what, what + " is no name of a file", "write the name of a file");
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
  const std::string field = fmt::format("\"{}\"", key);
  if (!good)
    refuse_field(file, field, field + " must be 3 or 4 rows of 4 numbers", "correct it, or take it out");
}

std::string lens_name(const json& document, const json& frame, const Lens& lens) {
  const std::string model = model_in(document, frame);
  if (!model.empty()) return model;
  return lens.fisheye ? "OPENCV_FISHEYE" : lens.camera.distorts() ? "OPENCV" : "PINHOLE";
}

namespace {

/// A key that changes what the pictures show and that klab does not use.
struct PassedOver {
  const char* key;
  const char* note;
};
constexpr PassedOver kPassedOver[] = {
    {"rolling_shutter", "pictures with a rolling shutter are taken as still"},
    {"time", "pictures of different times are taken as of one time"},
    {"exposure", "exposures are not equalized"}};

/// Keys that are read, or whose absence changes nothing.
const std::set<std::string_view>& known_keys() {
  static const std::set<std::string_view> keys = {"camera_angle_x",
                                                  "camera_angle_y",
                                                  "camera_model",
                                                  "fl_x",
                                                  "fl_y",
                                                  "cx",
                                                  "cy",
                                                  "w",
                                                  "h",
                                                  "k1",
                                                  "k2",
                                                  "k3",
                                                  "k4",
                                                  "k5",
                                                  "k6",
                                                  "p1",
                                                  "p2",
                                                  "ftheta_p0",
                                                  "ftheta_p1",
                                                  "is_fisheye",
                                                  "latlong",
                                                  "equirectangular",
                                                  "lightfield",
                                                  "aabb_scale",
                                                  "scale",
                                                  "offset",
                                                  "frames",
                                                  "file_path",
                                                  "transform_matrix",
                                                  "mask_path",
                                                  "sharpness",
                                                  "rotation",
                                                  "colmap_im_id",
                                                  "applied_transform",
                                                  "applied_scale",
                                                  "ply_file_path",
                                                  "train_filenames",
                                                  "val_filenames",
                                                  "test_filenames",
                                                  "camera_label",
                                                  "depth_file_path",
                                                  "depth_path",
                                                  "enable_depth_loading",
                                                  "integer_depth_scale",
                                                  "sharpness_score"};
  return keys;
}

}  // namespace

std::vector<std::string> notes_on_keys(const fs::path& file, const json& document) {
  std::set<std::string> keys;
  const auto collect = [&](const json& object) {
    for (const auto& [key, value] : object.items())
      if (value != 0 && value != false &&
          !(value.is_array() && std::ranges::all_of(value, [](const json& v) { return v == 0; })))
        keys.insert(key);
  };
  collect(document);
  if (const auto frames = document.find("frames"); frames != document.end() && frames->is_array())
    for (const json& frame : *frames)
      if (frame.is_object()) collect(frame);
  const std::string name = file.filename().string();
  std::vector<std::string> notes;
  for (const PassedOver& passed : kPassedOver)
    if (keys.erase(passed.key) > 0)
      notes.push_back(fmt::format("{}: \"{}\": {}", name, passed.key, passed.note));
  std::string unknown;
  int count = 0;
  constexpr int kShownKeys = 6;
  for (const std::string& key : keys)
    if (!known_keys().contains(key) && ++count <= kShownKeys)
      unknown += fmt::format("{}\"{}\"", unknown.empty() ? "" : ", ", excerpt(key));
  if (count > 0)
    notes.push_back(fmt::format("{}: keys that klab does not know are passed over: {}{}", name, unknown,
                                count > kShownKeys ? fmt::format(" and {} more", count - kShownKeys) : ""));
  return notes;
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
    refuse_field(file, "focal length", "gives no focal length",
                 "add \"camera_angle_x\" (radians) or \"fl_x\" (pixels)");
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
      refuse_field(file, fmt::format("\"{}\"", key),
                   fmt::format("\"{}\" is {}, which {} does not have", key, value,
                               fisheye ? "a lens of wide angle here" : "klab's lens of k1, k2, p1, p2"),
                   kUndistort);
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
