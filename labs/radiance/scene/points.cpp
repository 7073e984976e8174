#include "labs/radiance/scene/points.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "harness/records/input.h"
#include "harness/records/memory_left.h"
#include "harness/records/refused.h"
#include "labs/radiance/scene/ply_vertices.h"

namespace klab {
namespace {

constexpr int64_t kMostBytesPoints = 8'000'000'000;  // of a file
constexpr std::string_view kBlanks = " \t\r\n\v\f";
constexpr double kFarAway = 100;  // times the cameras' distances: floats lose six bits and more

/// Where x, y, z and red, green, blue are among a vertex's properties; the colors may be absent.
struct Wanted {
  std::array<size_t, 3> place{};
  std::array<size_t, 3> color{};
  double full = 0;  // the value of a full color; 0: no colors
};

/// Returns the value of a color that is fully on.
double full_color(const PlyType& type) {
  return type.kind == PlyType::Kind::floating ? 1 : type.size == 1 ? 255 : 65535;
}

Wanted wanted_of(const std::filesystem::path& file, const PlyElement& vertex) {
  Wanted wanted;
  size_t k = 0;
  for (const char* name : {"x", "y", "z"}) {
    const auto at = vertex.index_of(name);
    if (!at || vertex.properties[*at].count)
      throw Refused(file, name, fmt::format("has no property '{}' that is a number", name),
                    "export a cloud of points with x, y and z");
    wanted.place[k++] = *at;
  }
  for (const auto& names : {std::array{"red", "green", "blue"},
                            {"r", "g", "b"},
                            {"diffuse_red", "diffuse_green", "diffuse_blue"}}) {
    size_t colors = 0;
    for (const char* name : names)
      if (const auto at = vertex.index_of(name); at && !vertex.properties[*at].count)
        wanted.color[colors++] = *at;
    if (colors < 3) continue;
    wanted.full = full_color(vertex.properties[wanted.color[0]].type);
    break;
  }
  return wanted;
}

uint8_t level(double value) { return value >= 255 ? 255 : value > 0 ? uint8_t(value) : 0; }

double median(std::vector<double> values) {
  const auto at = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

WorldPosition origin_of(std::span<const WorldPosition> cameras) {
  WorldPosition middle{};
  if (cameras.empty()) return middle;
  for (size_t k = 0; k < 3; ++k) {
    std::vector<double> along;
    for (const WorldPosition& p : cameras) along.push_back(p[k]);
    middle[k] = median(std::move(along));
  }
  std::vector<double> distances;
  for (const WorldPosition& p : cameras)
    distances.push_back(std::hypot(p[0] - middle[0], p[1] - middle[1], p[2] - middle[2]));
  const double between = median(std::move(distances)),
               far = std::max({std::abs(middle[0]), std::abs(middle[1]), std::abs(middle[2])});
  const double step = between > 1e-9 ? std::pow(10, std::floor(std::log10(between))) : 1;
  if (!(far > kFarAway * std::max(between, step))) return {};
  for (double& m : middle)
    m = step < 1 ? std::round(m * std::round(1 / step)) / std::round(1 / step) : std::round(m / step) * step;
  return middle;
}

std::string position_text(const WorldPosition& p) {
  return fmt::format("({:.15g}, {:.15g}, {:.15g})", p[0], p[1], p[2]);
}

void PointCloud::add(double x, double y, double z, const std::array<uint8_t, 3>& rgb) {
  if (within(x, kWorld) && within(y, kWorld) && within(z, kWorld))
    points.push_back({{float(x - origin[0]), float(y - origin[1]), float(z - origin[2])}, rgb});
  else
    ++left_out;
}

void PointCloud::add(double x, double y, double z, const std::array<uint8_t, 3>& rgb,
                     std::span<const uint32_t> images) {
  const size_t before = points.size();
  add(x, y, z, rgb);
  if (points.size() == before) return;
  seen_by.insert(seen_by.end(), images.begin(), images.end());
  seen_end.push_back(seen_by.size());
}

PointCloud read_point_cloud(const std::filesystem::path& file, const WorldPosition& origin) {
  const std::vector<uint8_t> bytes = read_bytes(file, kMostBytesPoints);
  const PlyHeader header = read_ply_header(file, bytes);
  const Wanted wanted = wanted_of(file, header.vertex);
  require_memory(header.vertex.number * int64_t(sizeof(ScenePoint)), "reading the points of " + file.string(),
                 "thin them out first");
  PointCloud cloud;
  cloud.origin = origin;
  cloud.points.reserve(size_t(header.vertex.number));
  for_each_vertex(file, bytes, header, [&](int64_t, std::span<const double> numbers) {
    ScenePoint point;
    for (size_t c = 0; wanted.full > 0 && c < 3; ++c)
      point.rgb[c] = level(wanted.full == 255 ? numbers[wanted.color[c]]
                                              : 255 / wanted.full * numbers[wanted.color[c]] + 0.5);
    cloud.add(numbers[wanted.place[0]], numbers[wanted.place[1]], numbers[wanted.place[2]], point.rgb);
  });
  return cloud;
}

std::string_view Words::next() {
  left_.remove_prefix(std::min(left_.find_first_not_of(kBlanks), left_.size()));
  const std::string_view word = left_.substr(0, left_.find_first_of(kBlanks));
  left_.remove_prefix(word.size());
  return word;
}

std::string_view Words::rest() const {
  std::string_view text = left_;
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

bool read_number(std::string_view word, double& to) {
  if (word.starts_with('+')) word.remove_prefix(1);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), to);
  // The number is out of range, too large or too small; the caller checks its range.
  if (error == std::errc::result_out_of_range) to = HUGE_VAL;
  return !word.empty() && end == word.data() + word.size();
}

}  // namespace klab
