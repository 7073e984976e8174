// The header of a .ply file: its form, its elements and what a vertex holds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace klab {

/// A number type of the format, "uchar" for example.
struct PlyType {
  int64_t size = 0;  // bytes
  enum class Kind { integer, unsigned_integer, floating } kind = Kind::floating;
};

struct PlyProperty {
  std::string name;
  PlyType type;
  std::optional<PlyType> count;  // of a list: the type of its length
  bool is_float() const { return type.kind == PlyType::Kind::floating && !count; }
};

struct PlyElement {
  std::string name;
  int64_t number = 0;
  std::vector<PlyProperty> properties;

  bool has_lists() const;
  /// Returns the bytes of one in a binary file, where a list has only its length.
  int64_t least_bytes() const;
  /// Returns the index of a property; nothing if there is none of that name.
  std::optional<size_t> index_of(std::string_view property) const;
};

struct PlyHeader {
  enum class Form { ascii, little_endian, big_endian } form = Form::little_endian;
  std::vector<std::string> comments;
  std::vector<PlyElement> before;  // elements that stand before the vertices
  PlyElement vertex;
  std::vector<std::string> behind;  // names of the elements behind the vertices
  size_t data = 0;                  // offset of the first element
};

/// Returns the next line of a text, without its end; nothing if there is none, or if it has `most` characters or
/// more.
std::optional<std::string> next_ply_line(const std::vector<uint8_t>& bytes, size_t& at, size_t most = 1000);

/// Reads the header. Throws Refused if the file is no .ply, has an unknown format or type, a property twice, no
/// vertices, or a number of them that the file has no room for.
PlyHeader read_ply_header(const std::filesystem::path& file, const std::vector<uint8_t>& bytes);

}  // namespace klab
