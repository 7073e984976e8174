#include "labs/radiance/view/view_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "harness/records/input.h"
#include "harness/records/numbers.h"
#include "harness/web/port.h"
#include "labs/radiance/scene/camera_path.h"

namespace klab {
namespace {

constexpr double kFarAway = 1e4;         // sides of the unit cube
constexpr double kMostElevation = 1.56;  // radians; the poles have no upright picture
constexpr int kLeastSide = 8, kMostSide = 4096;
constexpr double kMostPixels = 2.5e6;
constexpr size_t kMostName = 40;

const std::string& text_in(const Query& query, const std::string& name) {
  const auto at = query.find(name);
  if (at == query.end()) throw BadRequest(fmt::format("\"{}\" is missing", name));
  return at->second;
}

/// Reads numbers separated by commas.
template <size_t count>
std::array<double, count> numbers_of(const Query& query, const std::string& name, double low, double high) {
  std::string text = text_in(query, name);
  std::array<double, count> numbers{};
  for (size_t i = 0; i < count; ++i) {
    const size_t comma = i + 1 < count ? text.find(',') : text.size();
    if (comma == std::string::npos)
      throw BadRequest(fmt::format("\"{}\" has fewer than {} numbers", name, count));
    numbers[i] = number_of({{name, text.substr(0, comma)}}, name, low, high);
    text.erase(0, comma + 1);
  }
  return numbers;
}

Vec3 vector_of(const std::array<double, 3>& v) { return {float(v[0]), float(v[1]), float(v[2])}; }

ViewRequest::Shows shows_of(const std::string& text) {
  using Shows = ViewRequest::Shows;
  for (const auto& [name, shows] : {std::pair{"color", Shows::color},
                                    {"depth", Shows::depth},
                                    {"normals", Shows::normals},
                                    {"error", Shows::error}})
    if (text == name) return shows;
  throw BadRequest(fmt::format("\"shows\" is \"{}\", not color, depth, normals or error", excerpt(text)));
}

std::string client_of(const std::string& text) {
  const bool plain = std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0; });
  if (text.empty() || text.size() > kMostName || !plain)
    throw BadRequest("\"client\" is not a name of letters and digits");
  return text;
}

}  // namespace

double number_of(const Query& query, const std::string& name, double low, double high) {
  try {
    return number_from<double>(text_in(query, name), {low, high});
  } catch (const std::invalid_argument& e) {
    throw BadRequest(fmt::format("\"{}\": {}", name, excerpt(e.what())));
  }
}

Camera Orbit::camera(int width, int height) const {
  const float ring = std::cos(elevation);
  const Vec3 back{ring * std::cos(azimuth), ring * std::sin(azimuth), std::sin(elevation)};
  return look_at(target + distance * back, target, width, height, fov);
}

Orbit orbit_of(const Scene& scene) {
  Orbit orbit;
  if (scene.train.empty() || cameras_surround(scene)) return orbit;
  const Camera& first = scene.train.front().camera;
  const Vec3 back = normalized(first.axis(2)), middle{0.5F, 0.5F, 0.5F};
  orbit.distance = std::max(0.3F, dot(first.position() - middle, back));
  orbit.target = first.position() - orbit.distance * back;
  orbit.azimuth = std::atan2(back.y, back.x);
  orbit.elevation = std::asin(std::clamp(back.z, -1.F, 1.F));
  orbit.fov = 2 * std::atan(0.5F * float(first.width) / first.fx);
  return orbit;
}

ViewNumber view_number(const std::string& text, const Scene* scene) {
  const bool test = text.starts_with("test:");
  if (!test && !text.starts_with("train:"))
    throw BadRequest(fmt::format("the view is \"{}\", not train:0 or test:0", excerpt(text)));
  if (scene == nullptr) throw BadRequest("the views of the scene are not known here");
  const size_t count = test ? scene->test.size() : scene->train.size();
  if (count == 0)
    throw BadRequest(fmt::format("the scene has no views for {}", test ? "testing" : "training"));
  const double index = number_of({{"view", text.substr(text.find(':') + 1)}}, "view", 0, double(count - 1));
  if (index != std::floor(index)) throw BadRequest("the number of a view is no whole number");
  return {test, size_t(index)};
}

const View& view_of(const Scene& scene, const ViewNumber& number) {
  return (number.test ? scene.test : scene.train).at(number.index);
}

int view_port(const std::string& text, const std::string& option, const std::string& hint) {
  return port_from(text, option, kViewPort, hint);
}

Camera resized(const Camera& camera, int width, int height) {
  Camera out = camera;
  const float x = float(width) / float(camera.width), y = float(height) / float(camera.height);
  out.width = width, out.height = height;
  out.fx *= x, out.cx *= x;
  out.fy *= y, out.cy *= y;
  return out;
}

ViewRequest view_request(const Query& query, const Scene* scene) {
  ViewRequest r;
  r.client = client_of(text_in(query, "client"));
  r.shows = shows_of(text_in(query, "shows"));
  auto room = numbers_of<2>(query, "size", kLeastSide, kMostSide);
  const double smaller = std::min(1.0, std::sqrt(kMostPixels / (room[0] * room[1])));
  for (double& side : room) side = std::max<double>(kLeastSide, std::floor(side * smaller));
  if (query.contains("view")) {
    r.view = view_number(query.at("view"), scene);
    const Camera& own = view_of(*scene, *r.view).camera;
    const double fits = std::min({1.0, room[0] / own.width, room[1] / own.height});
    const auto side = [&](int pixels) { return std::max(1, int(std::lround(fits * pixels))); };
    r.camera = resized(own, side(own.width), side(own.height));
  } else {
    Orbit orbit;
    orbit.target = vector_of(numbers_of<3>(query, "target", -kFarAway, kFarAway));
    orbit.azimuth = float(number_of(query, "azimuth", -1e3, 1e3));
    orbit.elevation = float(number_of(query, "elevation", -kMostElevation, kMostElevation));
    orbit.distance = float(number_of(query, "distance", 1e-3, kFarAway));
    orbit.fov = float(number_of(query, "fov", 0.02, 2.9));
    r.camera = orbit.camera(int(room[0]), int(room[1]));
  }
  if (r.shows == ViewRequest::Shows::error && !r.view)
    throw BadRequest("the error needs a view of the scene to compare with");
  if (query.contains("low") || query.contains("high"))
    r.box = GridBox{vector_of(numbers_of<3>(query, "low", -kFarAway, kFarAway)),
                    vector_of(numbers_of<3>(query, "high", -kFarAway, kFarAway))};
  if (query.contains("exposure")) r.exposure = float(number_of(query, "exposure", -10, 10));
  r.moving = query.contains("moving") && query.at("moving") == "1";
  if (query.contains("version")) r.version = int64_t(number_of(query, "version", -1, 1e15));
  if (query.contains("width")) r.width = int(number_of(query, "width", 0, kMostSide));
  return r;
}

}  // namespace klab
