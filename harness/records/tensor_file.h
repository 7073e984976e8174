// Named tensors on disk, in the safetensors format, which Python can open.
//
// Layout (https://github.com/huggingface/safetensors): 8 bytes little-endian length of a JSON header, the
// header
// {"name": {"dtype": "F32", "shape": [..], "data_offsets": [begin, end]}, "__metadata__": {..}}, then the
// data.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

namespace klab {

struct TensorView {
  std::string name;
  std::string dtype;  // "F64" "F32" "F16" "BF16" "I64" "I32" "U32" "I8" "U8"
  std::vector<int64_t> shape;
  const void* data;
};

/// Writes under a temporary name, flushes to disk, then renames: readers always see the complete old or new
/// file. Throws std::runtime_error with the operating system's reason.
void save_tensors(const std::filesystem::path& file, std::span<const TensorView> tensors,
                  const std::map<std::string, std::string>& metadata);

class TensorFile {
 public:
  /// Reads the whole file. Throws std::runtime_error that names the file and the error: missing, truncated, a
  /// header that is not JSON, offsets that do not fit the data or the shape, overlapping tensors, or bytes
  /// that belong to no tensor.
  explicit TensorFile(const std::filesystem::path& file);

  const std::filesystem::path& path() const { return file_; }
  size_t data_bytes() const { return data_.size(); }
  const std::string& metadata(const std::string& key) const;
  bool has_metadata(const std::string& key) const { return metadata_.contains(key); }
  /// Returns all tensors by name. Their data live as long as this object.
  std::vector<TensorView> tensors() const;
  /// Copies a tensor out. dtype and shape must match, and floats must be finite.
  void read(const std::string& name, const std::string& dtype, const std::vector<int64_t>& shape,
            void* into) const;

 private:
  struct Entry {
    std::string dtype;
    std::vector<int64_t> shape;
    size_t begin = 0, end = 0;
  };
  void read_metadata(const nlohmann::json& value);
  Entry entry_from(const std::string& name, const nlohmann::json& value) const;
  void require_tiled() const;
  void require_finite(const std::string& name, const float* values, size_t n) const;
  std::filesystem::path file_;
  std::map<std::string, Entry> entries_;
  std::map<std::string, std::string> metadata_;
  std::vector<uint8_t> data_;
};

}  // namespace klab
