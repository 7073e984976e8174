#include "labs/radiance/scene/camera_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <numeric>
#include <stdexcept>

#include "harness/records/atomic_file.h"
#include "harness/records/input.h"
#include "harness/records/refused.h"
#include "labs/radiance/scene/frames.h"
#include "labs/radiance/scene/transforms_fields.h"

namespace klab {
namespace {

using Order = std::vector<size_t>;

std::vector<const View*> all_views(const Scene& scene) {
  std::vector<const View*> views;
  for (const auto* set : {&scene.train, &scene.test})
    for (const View& view : *set) views.push_back(&view);
  return views;
}

/// A point of a path: where a camera stands, which way it looks and what is up.
struct Station {
  Vec3 at, back, up;
};

float way(const std::vector<Station>& stations, const Order& order) {
  float sum = 0;
  for (size_t i = 1; i < order.size(); ++i) sum += length(stations[order[i]].at - stations[order[i - 1]].at);
  return sum;
}

/// Returns the order that goes to the nearest station left each time.
Order nearest_first(const std::vector<Station>& stations, size_t first) {
  Order order{first}, left;
  for (size_t i = 0; i < stations.size(); ++i)
    if (i != first) left.push_back(i);
  while (!left.empty()) {
    const Vec3 at = stations[order.back()].at;
    const auto next = std::ranges::min_element(
        left, {}, [&](size_t i) { return dot(stations[i].at - at, stations[i].at - at); });
    order.push_back(*next);
    left.erase(next);
  }
  return order;
}

/// Reverses parts of the order as long as that makes the way shorter. (Croes, "A method for solving
/// traveling-salesman problems", 1958.)
void shorten(const std::vector<Station>& stations, Order& order) {
  const auto between = [&](size_t a, size_t b) {
    return length(stations[order[a]].at - stations[order[b]].at);
  };
  constexpr int kPasses = 20;
  bool shorter = true;
  for (int pass = 0; pass < kPasses && shorter; ++pass) {
    shorter = false;
    for (size_t i = 0; i + 1 < order.size(); ++i)
      for (size_t j = i + 1; j < order.size(); ++j) {
        // The stretch from i to j turned around: only its two ends get new neighbors.
        const float before = (i > 0 ? between(i - 1, i) : 0) + (j + 1 < order.size() ? between(j, j + 1) : 0);
        const float after = (i > 0 ? between(i - 1, j) : 0) + (j + 1 < order.size() ? between(i, j + 1) : 0);
        if (after > before - 1e-6F) continue;
        std::reverse(order.begin() + std::ptrdiff_t(i), order.begin() + std::ptrdiff_t(j) + 1);
        shorter = true;
      }
  }
}

/// Returns the stations in the order of the path: by name, unless a tour is much shorter.
std::vector<Station> ordered_stations(const Scene& scene) {
  constexpr size_t kMostStations = 400;  // of a tour: it takes their square
  constexpr float kMuchShorter = 1.5F;
  std::vector<const View*> views = all_views(scene);
  std::ranges::stable_sort(views, {}, [](const View* v) { return v->name; });
  std::vector<Station> stations;
  const size_t step = (views.size() + kMostStations - 1) / kMostStations;
  for (size_t i = 0; i < views.size(); i += step) {
    const Camera& c = views[i]->camera;
    stations.push_back({c.position(), c.axis(2), c.axis(1)});
  }
  Order by_name(stations.size());
  std::iota(by_name.begin(), by_name.end(), size_t{0});
  Order tour = nearest_first(stations, 0);
  tour = nearest_first(stations, tour.back());
  shorten(stations, tour);
  const Order& order = way(stations, by_name) <= kMuchShorter * way(stations, tour) ? by_name : tour;
  std::vector<Station> out;
  for (const size_t i : order) out.push_back(stations[i]);
  return out;
}

/// Averages each station with its neighbors; the ends stay.
void smooth(std::vector<Station>& stations) {
  const std::vector<Station> before = stations;
  for (size_t i = 1; i + 1 < stations.size(); ++i) {
    const Station &a = before[i - 1], &b = before[i], &c = before[i + 1];
    const auto mean = [](Vec3 x, Vec3 y, Vec3 z) { return 0.25F * (x + 2 * y + z); };
    stations[i] = {mean(a.at, b.at, c.at), mean(a.back, b.back, c.back), mean(a.up, b.up, c.up)};
  }
}

/// The point of a cubic spline through b and c, with slopes by their neighbors. (Catmull and Rom, "A class of local
/// interpolating splines", 1974.)
Vec3 spline(Vec3 a, Vec3 b, Vec3 c, Vec3 d, float t) {
  return 0.5F * (2 * b + t * (c - a) + (t * t) * (2 * a - 5 * b + 4 * c - d) +
                 (t * t * t) * (3 * b - a - 3 * c + d));
}

/// Returns a camera like `lens` that stands and looks as the station says. Opposite directions may have a mean of
/// zero; `before` then is the way to look.
Camera camera_at(Camera lens, const Station& station, Vec3 before) {
  const Vec3 back = length(station.back) > 1e-3F ? normalized(station.back) : before;
  Vec3 right = cross(station.up, back);
  if (length(right) < 1e-3F) right = cross(std::abs(back.z) > 0.9F ? Vec3{0, 1, 0} : Vec3{0, 0, 1}, back);
  right = normalized(right);
  const Vec3 up = cross(back, right);
  const Vec3 axes[] = {right, up, back, station.at};
  for (size_t k = 0; k < 4; ++k)
    lens.pose[k] = axes[k].x, lens.pose[4 + k] = axes[k].y, lens.pose[8 + k] = axes[k].z;
  return lens;
}

/// Returns the lens without distortion, for a picture with that longer side.
Camera pinhole_of_size(Camera c, int longer) {
  const double factor = double(longer) / std::max(c.width, c.height);
  const int width = std::max(1, int(std::lround(c.width * factor))),
            height = std::max(1, int(std::lround(c.height * factor)));
  const auto sx = float(double(width) / c.width), sy = float(double(height) / c.height);
  c.fx *= sx, c.cx *= sx, c.fy *= sy, c.cy *= sy;
  c.width = width, c.height = height;
  c.k1 = c.k2 = c.p1 = c.p2 = 0;
  return c;
}

}  // namespace

bool cameras_surround(const Scene& scene) {
  constexpr double kWidest = 150 * std::numbers::pi / 180;
  std::vector<double> angles;
  for (const View* view : all_views(scene)) {
    const Vec3 d = view->camera.position() - Vec3{0.5F, 0.5F, 0.5F};
    angles.push_back(std::atan2(d.y, d.x));
  }
  if (angles.size() < 3) return false;
  std::ranges::sort(angles);
  double gap = angles.front() + 2 * std::numbers::pi - angles.back();
  for (size_t i = 1; i < angles.size(); ++i) gap = std::max(gap, angles[i] - angles[i - 1]);
  return gap <= kWidest;
}

std::vector<Camera> path_through_cameras(const Scene& scene, int frames, int longer) {
  const std::vector<const View*> views = all_views(scene);
  if (views.empty()) throw std::invalid_argument("--path cameras: the scene has no cameras to follow");
  const Camera lens = pinhole_of_size(views.front()->camera, longer);
  std::vector<Station> stations = ordered_stations(scene);
  for (size_t pass = 0; pass < 2 + stations.size() / 12; ++pass) smooth(stations);
  const size_t n = stations.size();
  // Points close to each other along the spline, and how far along it they lie.
  constexpr int kPieces = 16;
  std::vector<Station> dense;
  for (size_t i = 0; i + 1 < n; ++i)
    for (int k = 0; k < kPieces; ++k) {
      const float t = float(k) / kPieces;
      const Station &b = stations[i], &c = stations[i + 1], &a = i > 0 ? stations[i - 1] : b,
                    &d = i + 2 < n ? stations[i + 2] : c;
      dense.push_back(
          {spline(a.at, b.at, c.at, d.at, t), b.back + t * (c.back - b.back), b.up + t * (c.up - b.up)});
    }
  dense.push_back(stations.back());
  std::vector<float> along(dense.size(), 0);
  for (size_t i = 1; i < dense.size(); ++i) along[i] = along[i - 1] + length(dense[i].at - dense[i - 1].at);
  // Cameras that only turn have no way: they are passed at an even pace.
  if (along.back() < 1e-6F)
    for (size_t i = 0; i < along.size(); ++i) along[i] = float(i);
  std::vector<Camera> path;
  Vec3 before = normalized(stations.front().back);
  for (int f = 0; f < frames; ++f) {
    const float at = frames > 1 ? along.back() * float(f) / float(frames - 1) : 0;
    const size_t i = std::min(size_t(std::ranges::upper_bound(along, at) - along.begin()), dense.size() - 1);
    const Station &a = dense[i > 0 ? i - 1 : 0], &b = dense[i];
    const float piece = i > 0 ? along[i] - along[i - 1] : 0,
                t = piece > 0 ? std::clamp((at - along[i - 1]) / piece, 0.F, 1.F) : 1;
    const auto mix = [&](Vec3 x, Vec3 y) { return x + t * (y - x); };
    path.push_back(camera_at(lens, {mix(a.at, b.at), mix(a.back, b.back), mix(a.up, b.up)}, before));
    before = path.back().axis(2);
  }
  return path;
}

CameraPath read_camera_path(const std::filesystem::path& file, const Scene& scene, int longer) {
  using nlohmann::json;
  const json document = read_transforms_json(file, "a camera path");
  const auto refuse = [&](const std::string& field, const std::string& why, const std::string& remedy) {
    throw Refused(file, field, why, remedy);
  };
  const auto list = document.find("camera_path");
  if (list == document.end() || !list->is_array() || list->empty() ||
      list->size() > size_t(range::frames.high))
    refuse("\"camera_path\"",
           fmt::format("must have a list \"camera_path\" of 1 to {} cameras", range::frames.high),
           "export the path from nerfstudio's viewer, or write such a list");
  const auto width = optional_number(file, document, "render_width", range::side_pixels).value_or(960),
             height = optional_number(file, document, "render_height", range::side_pixels).value_or(540);
  CameraPath path;
  path.frames_per_second = optional_number(file, document, "fps", {0.01, 1000}).value_or(30);
  for (size_t i = 0; i < list->size(); ++i) {
    const json& entry = (*list)[i];
    const std::string name = fmt::format("camera {}", i);
    if (!entry.is_object())
      refuse(name, name + " of \"camera_path\" is no object", "correct it, or take it out");
    for (const json* object : {&document, &entry})
      if (const auto type = object->find("camera_type"); type != object->end() && *type != "perspective")
        refuse("\"camera_type\"",
               fmt::format("{}: \"camera_type\" is none that klab makes pictures of", name),
               "take \"perspective\"");
    json rows = entry.contains("camera_to_world") ? entry["camera_to_world"] : json();
    if (rows.is_array() && rows.size() == 16) {
      json nested = json::array();
      for (size_t r = 0; r < 4; ++r)
        nested.push_back({rows[4 * r], rows[4 * r + 1], rows[4 * r + 2], rows[4 * r + 3]});
      rows = std::move(nested);
    }
    if (rows.is_null())
      refuse("\"camera_to_world\"", name + " has no \"camera_to_world\"",
             "write 16 numbers, or take the camera out");
    const FilePose pose = pose_of(file, rows, "\"camera_to_world\"", name);
    const auto fov = optional_number(file, entry, "fov", range::degrees, name + ": ").value_or(50);
    Camera c;
    c.width = int(std::lround(width)), c.height = int(std::lround(height));
    c.cx = 0.5F * float(c.width), c.cy = 0.5F * float(c.height);
    c.fx = c.fy = float(0.5 * c.height / std::tan(fov * std::numbers::pi / 360));
    c.pose = pose.pose;
    for (size_t k = 0; k < 3; ++k) c.pose[4 * k + 3] = float(pose.at[k] - scene.origin[k]);
    place_in_grid(scene, file, name, c);
    path.cameras.push_back(longer > 0 ? pinhole_of_size(c, longer) : c);
  }
  return path;
}

void save_camera_path(const std::filesystem::path& file, const CameraPath& path, const Scene& scene) {
  using nlohmann::json;
  // The world is the grid turned back: turn has its rows in the grid, its columns in the world.
  const auto turned_back = [&](Vec3 v, size_t axis) {
    return double(scene.turn[axis]) * v.x + double(scene.turn[3 + axis]) * v.y +
           double(scene.turn[6 + axis]) * v.z;
  };
  json cameras = json::array();
  for (const Camera& c : path.cameras) {
    json matrix = json::array();
    for (size_t r = 0; r < 3; ++r) {
      for (int k = 0; k < 3; ++k) matrix.push_back(turned_back(c.axis(k), r));
      matrix.push_back(turned_back(c.position() - scene.offset, r) / double(scene.scale) + scene.origin[r]);
    }
    for (const double last : {0.0, 0.0, 0.0, 1.0}) matrix.push_back(last);
    cameras.push_back({{"camera_to_world", matrix},
                       {"fov", 360 / std::numbers::pi * std::atan(0.5 * c.height / double(c.fy))},
                       {"aspect", double(c.width) / c.height}});
  }
  const Camera& first = path.cameras.front();
  const json document = {{"camera_type", "perspective"},
                         {"render_width", first.width},
                         {"render_height", first.height},
                         {"fps", path.frames_per_second},
                         {"seconds", double(path.cameras.size()) / path.frames_per_second},
                         {"camera_path", cameras}};
  write_file(file, document.dump(1) + "\n");
}

}  // namespace klab
