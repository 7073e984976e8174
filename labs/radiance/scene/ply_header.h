// The header of a .ply file whose element is "vertex": points of a cloud, or Gaussians.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace klab {

/// A property's place in a vertex.
struct PlyProperty {
  int64_t at = 0;     // bytes from the vertex's begin, in a binary file
  int64_t index = 0;  // among the properties
  int64_t size = 0;   // bytes
  enum class Kind { integer, unsigned_integer, floating } kind = Kind::floating;
  bool is_float() const { return kind == Kind::floating && size == 4; }
};

struct PlyHeader {
  bool ascii = false;  // else binary_little_endian
  int64_t vertices = 0, stride = 0;
  size_t data = 0;  // where the first vertex begins
  std::map<std::string, PlyProperty> properties;
};

/// The next line of a text, without its end; nothing where there is none, or none of fewer than 1000 characters.
std::optional<std::string> next_ply_line(const std::vector<uint8_t>& bytes, size_t& at);

/// Throws std::runtime_error, "<file>: <why>": no .ply, a format that is not read (ascii where it is not `allowed`), lists, other
/// elements than vertices, a property that is there twice; in a binary file, a count that the file's size does not bear out.
PlyHeader read_ply_header(const std::filesystem::path& file, const std::vector<uint8_t>& bytes,
                          bool ascii_allowed);

/// A number of one vertex of a binary file, at its property's place in `vertex`.
double ply_number(const uint8_t* vertex, const PlyProperty& property);

}  // namespace klab
