#include "labs/radiance/scene/points.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <stdexcept>

#include "harness/records/input.h"
#include "harness/records/memory_left.h"
#include "harness/records/numbers.h"
#include "labs/radiance/scene/ply_header.h"

namespace klab {
namespace {

constexpr int64_t kMostBytesPoints = 8'000'000'000;  // of a file
constexpr std::string_view kBlanks = " \t\r\n\v\f";

[[noreturn]] void refuse_points(const std::filesystem::path& file, const std::string& why) {
  throw std::runtime_error(file.string() + ": " + why);
}

/// Positions of the properties that are read: x, y, z, and red, green, blue, which may all be absent.
struct Wanted {
  std::array<PlyProperty, 3> place;
  std::array<PlyProperty, 3> color;
  bool colored = false;
};

Wanted wanted_of(const std::filesystem::path& file, const PlyHeader& header) {
  Wanted wanted;
  size_t k = 0;
  for (const char* name : {"x", "y", "z"}) {
    const auto at = header.properties.find(name);
    if (at == header.properties.end())
      refuse_points(file, fmt::format("has no property '{}': is it a cloud of points?", name));
    wanted.place[k++] = at->second;
  }
  size_t colors = 0;
  for (const char* name : {"red", "green", "blue"}) {
    const auto at = header.properties.find(name);
    if (at == header.properties.end()) continue;
    if (at->second.size != 1)
      refuse_points(file, fmt::format("the property '{}' is no color of 8 bits", name));
    wanted.color[colors++] = at->second;
  }
  wanted.colored = colors == 3;
  return wanted;
}

uint8_t level(double value) { return value >= 255 ? 255 : value > 0 ? uint8_t(value) : 0; }

/// Adds a vertex; `number_at` returns one of its properties.
void add_vertex(PointCloud& cloud, const Wanted& wanted, const auto& number_at) {
  ScenePoint point;
  if (wanted.colored)
    for (size_t c = 0; c < 3; ++c) point.rgb[c] = level(number_at(wanted.color[c]));
  cloud.add(number_at(wanted.place[0]), number_at(wanted.place[1]), number_at(wanted.place[2]), point.rgb);
}

void read_text(const std::filesystem::path& file, const std::vector<uint8_t>& bytes, const PlyHeader& header,
               const Wanted& wanted, PointCloud& cloud) {
  size_t at = header.data;
  std::vector<double> numbers(header.properties.size());
  for (int64_t i = 0; i < header.vertices; ++i) {
    const auto line = next_ply_line(bytes, at);
    if (!line) refuse_points(file, fmt::format("announces {} vertices and has {}", header.vertices, i));
    Words words(*line);
    for (double& number : numbers)
      if (!read_number(words.next(), number))
        refuse_points(
            file, fmt::format("vertex {} does not have {} numbers: '{}'", i, numbers.size(), excerpt(*line)));
    add_vertex(cloud, wanted, [&](const PlyProperty& p) { return numbers[size_t(p.index)]; });
  }
}

}  // namespace

void PointCloud::add(double x, double y, double z, const std::array<uint8_t, 3>& rgb) {
  if (within(x, range::pose) && within(y, range::pose) && within(z, range::pose))
    points.push_back({{float(x), float(y), float(z)}, rgb});
  else
    ++left_out;
}

PointCloud read_point_cloud(const std::filesystem::path& file) {
  const std::vector<uint8_t> bytes = read_bytes(file, kMostBytesPoints);
  const PlyHeader header = read_ply_header(file, bytes, true);
  const Wanted wanted = wanted_of(file, header);
  // Each number in a line of text takes at least a digit and a blank or the line's end.
  if (header.ascii && 2 * header.vertices * int64_t(header.properties.size()) > int64_t(bytes.size()))
    refuse_points(file, fmt::format("announces {} vertices, more than it has room for", header.vertices));
  require_memory(header.vertices * int64_t(sizeof(ScenePoint)), "reading the points of " + file.string(),
                 "thin them out first");
  PointCloud cloud;
  cloud.points.reserve(size_t(header.vertices));
  if (header.ascii) {
    read_text(file, bytes, header, wanted, cloud);
    return cloud;
  }
  const uint8_t* vertex = bytes.data() + header.data;
  for (int64_t i = 0; i < header.vertices; ++i, vertex += header.stride)
    add_vertex(cloud, wanted, [&](const PlyProperty& p) { return ply_number(vertex, p); });
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
