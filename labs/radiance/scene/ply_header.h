// The header of a .ply file whose element is "vertex": points of a cloud, or Gaussians.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace klab {

/// Position of a property in a vertex.
struct PlyProperty {
  int64_t at = 0;     // bytes from the start of the vertex, in a binary file
  int64_t index = 0;  // among the properties
  int64_t size = 0;   // bytes
  enum class Kind { integer, unsigned_integer, floating } kind = Kind::floating;
  bool is_float() const { return kind == Kind::floating && size == 4; }
};

struct PlyHeader {
  bool ascii = false;  // else binary_little_endian
  int64_t vertices = 0, stride = 0;
  size_t data = 0;  // offset of the first vertex
  std::map<std::string, PlyProperty> properties;
};

/// Returns the next line of a text, without its end; nothing if there is none, or if it has 1000 characters
/// or more.
std::optional<std::string> next_ply_line(const std::vector<uint8_t>& bytes, size_t& at);

/// Reads the header. Throws std::runtime_error, "<file>: <why>", if the file is no .ply, has an unsupported
/// format (ascii unless it is allowed), lists, elements other than vertices, or a property twice; for a
/// binary file, also if the count contradicts the file's size.
PlyHeader read_ply_header(const std::filesystem::path& file, const std::vector<uint8_t>& bytes,
                          bool ascii_allowed);

/// Reads a number of one vertex of a binary file; `vertex` is the start of the vertex.
double ply_number(const uint8_t* vertex, const PlyProperty& property);

}  // namespace klab
