#include "labs/radiance/scene/ply_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "harness/records/foreign_file.h"
#include "harness/records/input.h"
#include "harness/records/numbers.h"
#include "harness/records/refused.h"

namespace klab {
namespace {

constexpr Range kVertices{1, 1 << 26}, kElements{0, 1e10};
constexpr const char* kPlyAgain = "write or copy the file again";
using Kind = PlyType::Kind;

[[noreturn]] void refuse_ply_header(const std::filesystem::path& file, const std::string& field,
                                    const std::string& why, const std::string& remedy = kPlyAgain) {
  throw Refused(file, field, why, remedy);
}

std::optional<PlyType> ply_type(const std::string& name) {
  static const std::map<std::string, PlyType> types = {{"char", {1, Kind::integer}},
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
  const auto at = types.find(name);
  if (at == types.end()) return std::nullopt;
  return at->second;
}

PlyType required_type(const std::filesystem::path& file, const std::string& name) {
  const std::optional<PlyType> type = ply_type(name);
  if (!type)
    refuse_ply_header(
        file, "property",
        "its header has a property of the type '" + excerpt(name) + "', which .ply does not have",
        "correct the header: types are char, uchar, short, ushort, int, uint, float and double");
  return *type;
}

/// Reads "float x", or "list uchar int vertex_indices".
PlyProperty property_of(const std::filesystem::path& file, std::istringstream& words) {
  PlyProperty property;
  std::string type;
  words >> type;
  if (type == "list") {
    std::string count;
    words >> count >> type;
    property.count = required_type(file, count);
    if (property.count->kind == Kind::floating)
      refuse_ply_header(file, "property list",
                        "a property list counts its elements by the type '" + count + "'",
                        "write the length as a whole number");
  }
  property.type = required_type(file, type);
  words >> property.name;
  if (property.name.empty())
    refuse_ply_header(file, "property", "its header has a property without a name", "correct the header");
  return property;
}

void add_property(const std::filesystem::path& file, std::istringstream& words, PlyElement& element) {
  PlyProperty property = property_of(file, words);
  if (element.index_of(property.name))
    refuse_ply_header(file, excerpt(property.name),
                      fmt::format("the property '{}' of its element '{}' is there twice",
                                  excerpt(property.name), excerpt(element.name)),
                      "take one of them out");
  element.properties.push_back(std::move(property));
}

int64_t number_of_elements(const std::filesystem::path& file, const std::string& name,
                           const std::string& text) {
  const bool vertices = name == "vertex";
  try {
    return number_from<int64_t>(text, vertices ? kVertices : kElements);
  } catch (const std::invalid_argument& error) {
    const std::string what = vertices ? "number of vertices" : "number of '" + excerpt(name) + "'";
    refuse_ply_header(file, what, "its " + what + " " + error.what());
  }
}

void read_format(const std::filesystem::path& file, const std::string& name, PlyHeader& header) {
  using Form = PlyHeader::Form;
  static const std::map<std::string, Form> forms = {{"ascii", Form::ascii},
                                                    {"binary_little_endian", Form::little_endian},
                                                    {"binary_big_endian", Form::big_endian}};
  const auto at = forms.find(name);
  if (at == forms.end())
    refuse_ply_header(file, "format", fmt::format("has the format '{}'", excerpt(name)),
                      "write it as ascii, binary_little_endian or binary_big_endian");
  header.form = at->second;
}

/// Requires room for the vertices: a number in text takes a digit and a blank or the line's end at least.
void require_room_for_vertices(const std::filesystem::path& file, const PlyHeader& header, size_t bytes) {
  const int64_t left = int64_t(bytes - header.data);
  const PlyElement& vertex = header.vertex;
  const std::string field = "number of vertices";
  if (header.form == PlyHeader::Form::ascii) {
    if (2 * vertex.number * int64_t(vertex.properties.size()) > left + 1)
      refuse_ply_header(file, field,
                        fmt::format("by the {} in its header, {}, there are more than it has room for", field,
                                    vertex.number));
    return;
  }
  const int64_t each = vertex.least_bytes(), all = each * vertex.number;
  const bool exact = header.before.empty() && header.behind.empty() && !vertex.has_lists();
  if (exact ? all != left : all > left)
    refuse_ply_header(
        file, field,
        fmt::format(
            "announces {} vertices of {} bytes, {} in all, and has {} bytes behind its header (the {} "
            "and its size do not agree)",
            vertex.number, each, all, left, field));
}

}  // namespace

bool PlyElement::has_lists() const {
  return std::ranges::any_of(properties, [](const PlyProperty& p) { return p.count.has_value(); });
}

int64_t PlyElement::least_bytes() const {
  int64_t bytes = 0;
  for (const PlyProperty& p : properties) bytes += p.count ? p.count->size : p.type.size;
  return bytes;
}

std::optional<size_t> PlyElement::index_of(std::string_view property) const {
  const auto at = std::ranges::find(properties, property, &PlyProperty::name);
  if (at == properties.end()) return std::nullopt;
  return size_t(at - properties.begin());
}

std::optional<std::string> next_ply_line(const std::vector<uint8_t>& bytes, size_t& at, size_t most) {
  std::string line;
  for (; at < bytes.size() && line.size() < most; ++at) {
    if (bytes[at] != '\n') {
      line += char(bytes[at]);
      continue;
    }
    ++at;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    return line;
  }
  // The last line of a file may lack its end.
  if (!line.empty() && line.size() < most) return line;
  return std::nullopt;
}

PlyHeader read_ply_header(const std::filesystem::path& file, const std::vector<uint8_t>& bytes) {
  size_t at = 0;
  if (next_ply_line(bytes, at) != "ply") {
    const auto foreign =
        foreign_file({reinterpret_cast<const char*>(bytes.data()), std::min<size_t>(bytes.size(), 256)});
    refuse_ply_header(file, "first line",
                      "is no .ply file (its first line is not 'ply')" +
                          (foreign ? ": it is " + foreign->what : std::string()),
                      foreign ? foreign->remedy : "name a .ply file, or convert this one");
  }
  PlyHeader header;
  PlyElement* element = nullptr;  // the last one announced
  PlyElement behind;              // one behind the vertices, which nothing reads
  bool format = false, vertices = false;
  while (true) {
    const std::optional<std::string> line = next_ply_line(bytes, at);
    if (!line) refuse_ply_header(file, "end_header", "is cut: there is no line 'end_header'");
    std::istringstream words(*line);
    std::string first, second, third;
    words >> first;
    if (first == "end_header") break;
    if (first.empty() || first == "obj_info") continue;
    if (first == "comment") {
      header.comments.push_back(line->size() > 8 ? line->substr(8) : "");
    } else if (first == "format") {
      words >> second;
      read_format(file, second, header);
      format = true;
    } else if (first == "element") {
      words >> second >> third;
      if (second == "vertex" && vertices)
        refuse_ply_header(file, "element vertex", "has 'element vertex' twice", "keep one of them");
      PlyElement next{second, number_of_elements(file, second, third), {}};
      if (second == "vertex") {
        vertices = true;
        header.vertex = std::move(next);
        element = &header.vertex;
      } else if (vertices) {
        header.behind.push_back(next.name);
        behind = std::move(next);
        element = &behind;
      } else {
        header.before.push_back(std::move(next));
        element = &header.before.back();
      }
    } else if (first == "property" && element != nullptr) {
      add_property(file, words, *element);
    } else {
      refuse_ply_header(file, excerpt(*line), "has the line '" + excerpt(*line) + "' in its header",
                        "take that line out of the header");
    }
  }
  if (!format) refuse_ply_header(file, "format", "its header has no line 'format'");
  if (!vertices)
    refuse_ply_header(file, "element vertex", "its header has no 'element vertex'",
                      "export points, not a mesh's faces alone");
  header.data = at;
  require_room_for_vertices(file, header, bytes.size());
  return header;
}

}  // namespace klab
