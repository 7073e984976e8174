// Named tensors on disk, in the safetensors format: any Python user can open them.
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

/// Writes under a temporary name, flushes to the disk, then renames: a reader sees the old file or the new
/// one, whole, whatever happens in between. Throws std::runtime_error with the reason of the operating
/// system.
void save_tensors(const std::filesystem::path& file, std::span<const TensorView> tensors,
                  const std::map<std::string, std::string>& metadata);

class TensorFile {
 public:
  /// Reads the whole file. Throws std::runtime_error naming file and what is wrong: missing, cut short, a
  /// header that is no JSON, offsets that do not fit the data or the shape, tensors that overlap, bytes of no tensor.
  explicit TensorFile(const std::filesystem::path& file);

  const std::filesystem::path& path() const { return file_; }
  size_t data_bytes() const { return data_.size(); }
  const std::string& metadata(const std::string& key) const;
  bool has_metadata(const std::string& key) const { return metadata_.contains(key); }
  /// All of them, by name. Their data live as long as this.
  std::vector<TensorView> tensors() const;
  /// Copies a tensor out; dtype and shape must be the given ones, and floats finite.
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
