#include "labs/radiance/splat/ply.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "harness/records/atomic_file.h"
#include "harness/records/input.h"
#include "harness/records/memory_left.h"
#include "harness/records/numbers.h"
#include "harness/records/refused.h"
#include "labs/radiance/scene/ply_vertices.h"

namespace klab {
namespace {

constexpr int kRest = 45;                      // f_rest of degree 3
constexpr int64_t kMostBytes = 8'000'000'000;  // largest file
constexpr std::string_view kPlaceComment = "klab place ", kAntialiasedComment = "klab antialiased";

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& field, const std::string& why,
                         const std::string& remedy) {
  throw Refused(file, field, why, remedy);
}

/// A property of all vertices, and where it goes.
struct Column {
  std::string name;
  size_t index = 0;  // among the properties
  float* to = nullptr;
  bool may_be_high = false, may_be_low = false;  // infinite values that mean something
};

/// The columns of a splatting file, in the set's order.
class Columns {
 public:
  Columns(const std::filesystem::path& file, const PlyHeader& header) : file_(file), vertex_(header.vertex) {
    for (const PlyProperty& property : vertex_.properties)
      if (property.name.starts_with("packed_"))
        refuse(file, property.name,
               fmt::format("has the property '{}': it is an editor's compressed form of Gaussians",
                           property.name),
               "export it uncompressed");
  }

  void add(const std::string& name, float* to, bool may_be_high = false, bool may_be_low = false) {
    const auto at = vertex_.index_of(name);
    if (!at)
      refuse(file_, name, fmt::format("has no property '{}': is it a splatting file?", name),
             "export Gaussians as .ply, with spherical harmonics");
    if (!vertex_.properties[*at].is_float())
      refuse(file_, name, "the property '" + name + "' is no float", "write it as float");
    columns_.push_back({name, *at, to, may_be_high, may_be_low});
  }

  /// Returns the properties that no column reads, but for normals, which splatting files have and never use.
  std::vector<std::string> passed_over() const {
    std::vector<std::string> names;
    for (size_t k = 0; k < vertex_.properties.size(); ++k) {
      const std::string& name = vertex_.properties[k].name;
      if (name == "nx" || name == "ny" || name == "nz") continue;
      if (std::ranges::none_of(columns_, [&](const Column& column) { return column.index == k; }))
        names.push_back(name);
    }
    return names;
  }

  /// Reads all vertices. Refuses values that are not finite, with their number.
  void read(const std::vector<uint8_t>& bytes, const PlyHeader& header) {
    std::string first;
    int64_t bad = 0;
    for_each_vertex(file_, bytes, header, [&](int64_t i, std::span<const double> numbers) {
      for (const Column& column : columns_) {
        const auto value = float(numbers[column.index]);
        column.to[i] = value;
        if (std::isfinite(value) || (value > 0 && column.may_be_high) || (value < 0 && column.may_be_low))
          continue;
        if (bad++ == 0)
          first_ = column.name, first = fmt::format("'{}' of vertex {} is {}", column.name, i, value);
      }
    });
    if (bad > 0)
      refuse(file_, first_, fmt::format("{}; {} values of the file are not finite", first, bad),
             "take these Gaussians out, or export the file again");
  }

 private:
  const std::filesystem::path& file_;
  const PlyElement& vertex_;
  std::vector<Column> columns_;
  std::string first_;
};

/// Returns the degree of the harmonics from the number of f_rest properties, which must be numbered from 0
/// without a gap.
int degree_of(const std::filesystem::path& file, const PlyElement& vertex) {
  int count = 0;
  while (vertex.index_of("f_rest_" + std::to_string(count))) ++count;
  for (int degree = 0; degree <= 3; ++degree)
    if (count == 3 * ((degree + 1) * (degree + 1) - 1)) return degree;
  refuse(file, "f_rest",
         fmt::format("has {} properties f_rest; spherical harmonics have 0, 9, 24 or 45", count),
         "export all of one degree");
}

std::string place_text(const WorldPlace& place, const Placement& placement) {
  return nlohmann::json{{"scale", place.scale},
                        {"offset", {place.offset.x, place.offset.y, place.offset.z}},
                        {"turn", place.turn},
                        {"origin", place.origin},
                        {"cascades", placement.cascades},
                        {"near", placement.near},
                        {"black", placement.black}}
      .dump();
}

/// Reads a list of numbers of that size from a place's JSON.
template <size_t size>
std::array<double, size> numbers_in(const nlohmann::json& object, const char* key, Range range,
                                    const std::string& where) {
  std::array<double, size> out{};
  const auto at = object.find(key);
  if (at == object.end() || !at->is_array() || at->size() != size)
    throw std::runtime_error(fmt::format("{}: \"{}\" must be {} numbers", where, key, size));
  for (size_t k = 0; k < size; ++k)
    out[k] = number_of<double>((*at)[k], fmt::format("{}[{}]", key, k), range, where);
  return out;
}

StoredPlace stored_place(const std::string& text, const std::string& where) {
  const nlohmann::json object = parse_json(text, where);
  if (!object.is_object()) throw std::runtime_error(where + ": is no JSON object");
  StoredPlace out;
  out.place.scale = float(number_in<double>(object, "scale", range::scale, where));
  const auto offset = numbers_in<3>(object, "offset", range::offset, where);
  out.place.offset = {float(offset[0]), float(offset[1]), float(offset[2])};
  const auto turn = numbers_in<9>(object, "turn", {-1.001, 1.001}, where);
  std::ranges::transform(turn, out.place.turn.begin(), [](double t) { return float(t); });
  out.place.origin = numbers_in<3>(object, "origin", kWorld, where);
  out.placement = {.cascades = number_in<int>(object, "cascades", range::cascades, where),
                   .scale = out.place.scale,
                   .offset = out.place.offset,
                   .near = float(number_in<double>(object, "near", range::near, where)),
                   .black = object.contains("black") && object["black"] == true};
  return out;
}

/// Reads the comment of klab; nothing if there is none.
std::optional<StoredPlace> place_in(const std::filesystem::path& file, const PlyHeader& header) {
  for (const std::string& comment : header.comments) {
    if (!comment.starts_with(kPlaceComment)) continue;
    try {
      return stored_place(comment.substr(kPlaceComment.size()), "its comment 'klab place'");
    } catch (const std::runtime_error& e) {
      refuse(file, "klab place", e.what(), "take the comment out, or write the file again");
    }
  }
  return std::nullopt;
}

/// Replaces infinite values that mean 0 or 1 by finite ones, and notes their numbers.
void bound_infinite(GaussianSet& set, std::vector<std::string>* notes) {
  int64_t opaque = 0, clear = 0, flat = 0;
  for (float& raw : set.opacity_raw) {
    if (std::isfinite(raw)) continue;
    ++(raw > 0 ? opaque : clear);
    raw = std::copysign(kMostOpacityRaw, raw);
  }
  for (float& size : set.log_scale)
    if (!std::isfinite(size)) size = std::log(kLeastSize), ++flat;
  if (notes == nullptr) return;
  if (opaque + clear > 0)
    notes->push_back(
        fmt::format("{} opacities are infinite: {} Gaussians become as opaque as klab's are, {} as clear",
                    opaque + clear, opaque, clear));
  if (flat > 0)
    notes->push_back(
        fmt::format("{} sizes are 0: such Gaussians become {:g} of the unit cube thin", flat, kLeastSize));
}

/// Notes names of one kind that are not read, the first few of them.
void note_passed_over(const std::vector<std::string>& names, const std::string& kind,
                      std::vector<std::string>* notes) {
  constexpr size_t kShownNames = 6;
  if (names.empty() || notes == nullptr) return;
  std::string text;
  for (size_t k = 0; k < std::min(names.size(), kShownNames); ++k)
    text += fmt::format("{}\"{}\"", k == 0 ? "" : ", ", excerpt(names[k]));
  if (names.size() > kShownNames) text += fmt::format(" and {} more", names.size() - kShownNames);
  notes->push_back(fmt::format("{} that splatting files do not have are passed over: {}", kind, text));
}

std::string header_text(int64_t n, const std::string& comment, bool antialiased) {
  std::string text = "ply\nformat binary_little_endian 1.0\n";
  if (!comment.empty()) text += fmt::format("comment {}{}\n", kPlaceComment, comment);
  if (antialiased) text += fmt::format("comment {}\n", kAntialiasedComment);
  text += fmt::format("element vertex {}\n", n);
  const auto add = [&](const std::string& name) { text += "property float " + name + "\n"; };
  for (const char* name : {"x", "y", "z", "nx", "ny", "nz", "f_dc_0", "f_dc_1", "f_dc_2"}) add(name);
  for (int k = 0; k < kRest; ++k) add(fmt::format("f_rest_{}", k));
  add("opacity");
  for (int k = 0; k < 3; ++k) add(fmt::format("scale_{}", k));
  for (int k = 0; k < 4; ++k) add(fmt::format("rot_{}", k));
  return text + "end_header\n";
}

}  // namespace

void save_ply(const std::filesystem::path& file, const GaussianSet& grid, const WorldPlace& place,
              const Placement* placement) {
  const GaussianSet set = in_world(grid, place);
  AtomicFile out(file);
  // An origin is never left out: without it the world's coordinates could not be found again.
  const bool says = placement != nullptr || place.origin != WorldPosition{};
  out.write(header_text(set.n, says ? place_text(place, placement != nullptr ? *placement : Placement()) : "",
                        set.antialiased));
  constexpr int64_t kNumbers = 6 + 3 + kRest + 1 + 3 + 4, kAtOnce = 4096;
  const int64_t n = set.n,
                above = int64_t(set.degree + 1) * (set.degree + 1) - 1;  // functions above degree 0
  std::vector<float> rows;
  for (int64_t i = 0; i < n; ++i) {
    std::array<float, size_t(kNumbers)> row{};
    for (int64_t k = 0; k < 3; ++k) {
      row[size_t(k)] = set.position[size_t(k * n + i)];
      row[size_t(6 + k)] = set.coefficients[size_t(k * n + i)];
      for (int64_t f = 0; f < above; ++f)
        row[size_t(9 + 15 * k + f)] = set.coefficients[size_t((3 * (f + 1) + k) * n + i)];
      row[size_t(10 + kRest + k)] = set.log_scale[size_t(k * n + i)];
    }
    row[9 + kRest] = set.opacity_raw[size_t(i)];
    for (int64_t k = 0; k < 4; ++k) row[size_t(13 + kRest + k)] = set.quaternion[size_t(k * n + i)];
    rows.insert(rows.end(), row.begin(), row.end());
    if (int64_t(rows.size()) < kAtOnce * kNumbers && i + 1 < n) continue;
    out.write(rows.data(), rows.size() * sizeof(float));
    rows.clear();
  }
  out.commit();
}

GaussianSet load_ply(const std::filesystem::path& file, const WorldPlace& place,
                     std::vector<std::string>* notes) {
  // The file, the Gaussians, and a copy of them where they are put into the grid.
  std::error_code no_size;  // reading says why
  if (const auto size = std::filesystem::file_size(file, no_size); !no_size && int64_t(size) <= kMostBytes)
    require_memory(3 * int64_t(size), "reading " + file.string(), "leave Gaussians out of the file first");
  const std::vector<uint8_t> bytes = read_bytes(file, kMostBytes);
  const PlyHeader header = read_ply_header(file, bytes);
  Columns columns(file, header);
  const int degree = degree_of(file, header.vertex);
  const std::optional<StoredPlace> stored = place_in(file, header);
  GaussianSet set = GaussianSet::zeros(header.vertex.number, degree);
  set.antialiased = std::ranges::find(header.comments, kAntialiasedComment) != header.comments.end();
  const int64_t n = set.n, above = int64_t(degree + 1) * (degree + 1) - 1;
  const char* axes[3] = {"x", "y", "z"};
  for (int64_t k = 0; k < 3; ++k) {
    columns.add(axes[k], set.position.data() + k * n);
    columns.add(fmt::format("scale_{}", k), set.log_scale.data() + k * n, false, true);
    columns.add(fmt::format("f_dc_{}", k), set.coefficients.data() + k * n);
    for (int64_t f = 0; f < above; ++f)
      columns.add(fmt::format("f_rest_{}", above * k + f), set.coefficients.data() + (3 * (f + 1) + k) * n);
  }
  for (int64_t k = 0; k < 4; ++k) columns.add(fmt::format("rot_{}", k), set.quaternion.data() + k * n);
  columns.add("opacity", set.opacity_raw.data(), true, true);
  columns.read(bytes, header);
  note_passed_over(columns.passed_over(), "properties", notes);
  std::vector<std::string> elements = header.behind;
  for (const PlyElement& element : header.before) elements.push_back(element.name);
  note_passed_over(elements, "elements", notes);
  for (int64_t i = 0; i < n; ++i) {
    float square = 0;
    for (int64_t k = 0; k < 4; ++k)
      square += set.quaternion[size_t(k * n + i)] * set.quaternion[size_t(k * n + i)];
    if (!(square > 1e-20F && std::isfinite(square)))
      refuse(
          file, fmt::format("rotation of vertex {}", i),
          fmt::format("the rotation of vertex {} has no direction: its length is {}", i, std::sqrt(square)),
          "take that Gaussian out");
  }
  if (stored) {
    for (size_t k = 0; k < 3; ++k)
      for (int64_t i = 0; i < n; ++i)
        set.position[k * size_t(n) + size_t(i)] += float(stored->place.origin[k] - place.origin[k]);
  } else {
    subtract_origin(set, place);
  }
  set = in_grid(std::move(set), place);
  bound_infinite(set, notes);
  return set;
}

std::optional<StoredPlace> place_in_ply(const std::filesystem::path& file) {
  return place_in(file, read_ply_header(file, read_bytes(file, kMostBytes)));
}

void subtract_origin(GaussianSet& set, const WorldPlace& place) {
  const WorldPosition& o = place.origin;
  if (o == WorldPosition{}) return;
  const auto n = size_t(set.n);
  size_t at_origin = 0;
  for (size_t i = 0; i < n; ++i) {
    const double x = set.position[i], y = set.position[n + i], z = set.position[2 * n + i];
    at_origin += std::hypot(x - o[0], y - o[1], z - o[2]) < std::hypot(x, y, z) ? 1 : 0;
  }
  if (2 * at_origin < n) return;
  for (size_t k = 0; k < 3; ++k)
    for (size_t i = 0; i < n; ++i) set.position[k * n + i] = float(set.position[k * n + i] - o[k]);
}

}  // namespace klab
