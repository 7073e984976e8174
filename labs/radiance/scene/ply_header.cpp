#include "labs/radiance/scene/ply_header.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <sstream>
#include <stdexcept>

#include "harness/records/input.h"
#include "harness/records/numbers.h"

namespace klab {
namespace {

static_assert(std::endian::native == std::endian::little, "the file's numbers are little-endian");

constexpr Range kVertices{1, 1 << 26};
using Kind = PlyProperty::Kind;

[[noreturn]] void refuse_ply_header(const std::filesystem::path& file, const std::string& why) {
  throw std::runtime_error(file.string() + ": " + why);
}

/// Returns size and kind of a type; nothing for an unknown type, lists among them.
std::optional<PlyProperty> property_of_type(const std::string& type) {
  struct Type {
    int64_t size;
    Kind kind;
  };
  static const std::map<std::string, Type> types = {{"char", {1, Kind::integer}},
                                                    {"int8", {1, Kind::integer}},
                                                    {"uchar", {1, Kind::unsigned_integer}},
                                                    {"uint8", {1, Kind::unsigned_integer}},
                                                    {"short", {2, Kind::integer}},
                                                    {"int16", {2, Kind::integer}},
                                                    {"ushort", {2, Kind::unsigned_integer}},
                                                    {"uint16", {2, Kind::unsigned_integer}},
                                                    {"int", {4, Kind::integer}},
                                                    {"int32", {4, Kind::integer}},
                                                    {"uint", {4, Kind::unsigned_integer}},
                                                    {"uint32", {4, Kind::unsigned_integer}},
                                                    {"float", {4, Kind::floating}},
                                                    {"float32", {4, Kind::floating}},
                                                    {"double", {8, Kind::floating}},
                                                    {"float64", {8, Kind::floating}}};
  const auto at = types.find(type);
  if (at == types.end()) return std::nullopt;
  return PlyProperty{.size = at->second.size, .kind = at->second.kind};
}

void read_property(const std::filesystem::path& file, std::istringstream& words, PlyHeader& header) {
  std::string type, name;
  words >> type >> name;
  std::optional<PlyProperty> property = property_of_type(type);
  if (!property || name.empty())
    refuse_ply_header(file,
                      "a property of type '" + excerpt(type) + "' is none of a vertex that is read here");
  property->at = header.stride;
  property->index = int64_t(header.properties.size());
  if (!header.properties.emplace(name, *property).second)
    refuse_ply_header(file, "the property '" + excerpt(name) + "' is there twice");
  header.stride += property->size;
}

int64_t number_of_vertices(const std::filesystem::path& file, const std::string& text) {
  try {
    return number_from<int64_t>(text, kVertices);
  } catch (const std::invalid_argument& error) {
    refuse_ply_header(file, std::string("its number of vertices ") + error.what());
  }
}

void require_all_vertices(const std::filesystem::path& file, const PlyHeader& header, size_t bytes) {
  const int64_t left = int64_t(bytes - header.data);
  if (header.stride * header.vertices != left)
    refuse_ply_header(
        file, fmt::format("announces {} vertices of {} bytes, {} in all, and has {} bytes behind its header",
                          header.vertices, header.stride, header.stride * header.vertices, left));
}

}  // namespace

std::optional<std::string> next_ply_line(const std::vector<uint8_t>& bytes, size_t& at) {
  constexpr size_t kLongest = 1000;
  std::string line;
  for (; at < bytes.size() && line.size() < kLongest; ++at) {
    if (bytes[at] != '\n') {
      line += char(bytes[at]);
      continue;
    }
    ++at;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    return line;
  }
  return std::nullopt;
}

PlyHeader read_ply_header(const std::filesystem::path& file, const std::vector<uint8_t>& bytes,
                          bool ascii_allowed) {
  size_t at = 0;
  if (next_ply_line(bytes, at) != "ply")
    refuse_ply_header(file, "is no .ply file: its first line is not 'ply'");
  PlyHeader header;
  bool format = false, vertices = false;
  while (true) {
    const std::optional<std::string> line = next_ply_line(bytes, at);
    if (!line) refuse_ply_header(file, "is cut: there is no line 'end_header'");
    std::istringstream words(*line);
    std::string first, second, third;
    words >> first;
    if (first == "end_header") break;
    if (first == "comment" || first == "obj_info" || first.empty()) continue;
    if (first == "format") {
      words >> second;
      header.ascii = ascii_allowed && second == "ascii";
      if (!header.ascii && second != "binary_little_endian")
        refuse_ply_header(file,
                          fmt::format("has the format '{}'; only binary_little_endian {}", excerpt(second),
                                      ascii_allowed ? "and ascii are read" : "is read"));
      format = true;
    } else if (first == "element") {
      words >> second >> third;
      if (second != "vertex" || vertices)
        refuse_ply_header(file,
                          "has an element '" + excerpt(second) + "'; vertices and nothing else are read");
      header.vertices = number_of_vertices(file, third);
      vertices = true;
    } else if (first == "property" && vertices) {
      read_property(file, words, header);
    } else {
      refuse_ply_header(file, "has the line '" + excerpt(*line) + "' in its header");
    }
  }
  if (!format) refuse_ply_header(file, "its header has no line 'format'");
  if (!vertices) refuse_ply_header(file, "its header has no 'element vertex'");
  header.data = at;
  if (!header.ascii) require_all_vertices(file, header, bytes.size());
  return header;
}

double ply_number(const uint8_t* vertex, const PlyProperty& property) {
  const auto as = [&]<class T>(T value) {
    std::memcpy(&value, vertex + property.at, sizeof value);
    return double(value);
  };
  const bool negative = property.kind == Kind::integer;
  if (property.kind == Kind::floating) return property.size == 4 ? as(float()) : as(double());
  if (property.size == 1) return negative ? as(int8_t()) : as(uint8_t());
  if (property.size == 2) return negative ? as(int16_t()) : as(uint16_t());
  return negative ? as(int32_t()) : as(uint32_t());
}

}  // namespace klab
