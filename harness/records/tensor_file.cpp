#include "harness/records/tensor_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/records/atomic_file.h"
#include "harness/records/input.h"
#include "harness/records/memory_left.h"
#include "harness/records/numbers.h"

namespace klab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int64_t kMostTensorBytes = 64'000'000'000;  // in a file
constexpr uint64_t kMostTensorHeader = 16'000'000;    // in its header

[[noreturn]] void refuse_tensors(const fs::path& file, const std::string& what) {
  throw std::runtime_error(file.string() + ": " + what);
}

/// Returns the bytes of an element; 0 for a type that klab does not use.
size_t width_of(const std::string& dtype) {
  static const std::map<std::string, size_t> widths = {{"F64", 8},  {"F32", 4}, {"F16", 2},
                                                       {"BF16", 2}, {"I64", 8}, {"I32", 4},
                                                       {"U32", 4},  {"I8", 1},  {"U8", 1}};
  const auto at = widths.find(dtype);
  return at == widths.end() ? 0 : at->second;
}

// Returns the bytes of a tensor, or the largest size_t if they do not fit.
size_t bytes_of(const std::vector<int64_t>& shape, const std::string& dtype) {
  size_t n = width_of(dtype);
  for (const int64_t d : shape)
    if (d < 0 || __builtin_mul_overflow(n, size_t(d), &n)) return std::numeric_limits<size_t>::max();
  return n;
}

}  // namespace

void save_tensors(const fs::path& file, std::span<const TensorView> tensors,
                  const std::map<std::string, std::string>& metadata) {
  json header = json::object();
  header["__metadata__"] = metadata;
  size_t offset = 0;
  for (const TensorView& t : tensors) {
    const size_t bytes = bytes_of(t.shape, t.dtype);
    header[t.name] = {{"dtype", t.dtype}, {"shape", t.shape}, {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // padded to 8 bytes, as the format requires
  const uint64_t length = text.size();
  AtomicFile out(file);
  out.write(&length, 8);
  out.write(text.data(), text.size());
  for (const TensorView& t : tensors) out.write(t.data, bytes_of(t.shape, t.dtype));
  out.commit();
}

TensorFile::TensorFile(const fs::path& file) : file_(file) {
  require_regular_file(file, kMostTensorBytes);
  require_memory(int64_t(fs::file_size(file)), "reading " + file.string(), "close other programs");
  data_ = read_bytes(file, kMostTensorBytes);
  const std::string_view bytes(reinterpret_cast<const char*>(data_.data()), data_.size());
  uint64_t length = 0;
  if (bytes.size() < 8) refuse_tensors(file, "is too short to be a safetensors file");
  std::memcpy(&length, bytes.data(), 8);
  if (length > bytes.size() - 8)
    refuse_tensors(file, "is cut short inside its header, or is no safetensors file");
  if (length > kMostTensorHeader) refuse_tensors(file, "has a header larger than any that klab writes");
  const json header = parse_json(bytes.substr(8, length), file.string() + ", its header");
  data_.erase(data_.begin(), data_.begin() + std::ptrdiff_t(8 + length));  // in place: files are large
  if (!header.is_object()) refuse_tensors(file, "has a damaged header, or is no safetensors file");
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__")
      read_metadata(value);
    else
      entries_[name] = entry_from(name, value);
  }
  require_tiled();
}

void TensorFile::read_metadata(const nlohmann::json& value) {
  if (!value.is_object()) refuse_tensors(file_, "has damaged metadata");
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string())
      refuse_tensors(file_, fmt::format("has damaged metadata: \"{}\" is no text", excerpt(key)));
    metadata_[key] = text.get<std::string>();
  }
}

TensorFile::Entry TensorFile::entry_from(const std::string& name, const nlohmann::json& value) const {
  const std::string where = fmt::format("{}, tensor \"{}\"", file_.string(), excerpt(name));
  const Range places{0, double(data_.size())};
  const auto list_of = [&](const char* key) -> const nlohmann::json& {
    const auto at = value.is_object() ? value.find(key) : value.end();
    if (!value.is_object() || at == value.end() || !at->is_array())
      throw std::runtime_error(fmt::format("{}: has no list \"{}\"", where, key));
    return *at;
  };
  Entry e;
  for (const auto& extent : list_of("shape"))
    e.shape.push_back(number_of<int64_t>(extent, "shape", range::extent, where));
  const auto& offsets = list_of("data_offsets");
  if (offsets.size() != 2) throw std::runtime_error(where + ": has no two \"data_offsets\"");
  if (offsets[1].is_number_unsigned() && offsets[1].get<uint64_t>() > data_.size())
    refuse_tensors(file_, fmt::format("is cut short: tensor \"{}\" is not all there", excerpt(name)));
  e.begin = size_t(number_of<int64_t>(offsets[0], "data_offsets", places, where));
  e.end = size_t(number_of<int64_t>(offsets[1], "data_offsets", places, where));
  const auto dtype = value.find("dtype");
  if (dtype == value.end() || !dtype->is_string() || width_of(dtype->get<std::string>()) == 0)
    throw std::runtime_error(where + ": has a dtype that klab does not read");
  e.dtype = dtype->get<std::string>();
  if (e.begin > e.end || e.end - e.begin != bytes_of(e.shape, e.dtype))
    throw std::runtime_error(where + ": shape and size disagree");
  return e;
}

// Checks that every byte belongs to exactly one tensor, as the format requires.
void TensorFile::require_tiled() const {
  std::vector<std::pair<size_t, size_t>> parts;
  for (const auto& [name, e] : entries_) parts.emplace_back(e.begin, e.end);
  std::sort(parts.begin(), parts.end());
  size_t at = 0;
  for (const auto& [begin, end] : parts) {
    if (begin != at)
      refuse_tensors(file_, begin < at ? "is damaged: two tensors share bytes"
                                       : "is damaged: bytes between tensors belong to none");
    at = end;
  }
  if (at != data_.size()) refuse_tensors(file_, "is damaged: bytes behind the last tensor belong to none");
}

const std::string& TensorFile::metadata(const std::string& key) const {
  const auto at = metadata_.find(key);
  if (at == metadata_.end())
    refuse_tensors(file_, fmt::format("has no metadata \"{}\": not a klab model", key));
  return at->second;
}

void TensorFile::read(const std::string& name, const std::string& dtype, const std::vector<int64_t>& shape,
                      void* into) const {
  const auto at = entries_.find(name);
  if (at == entries_.end()) refuse_tensors(file_, fmt::format("has no tensor \"{}\"", name));
  const Entry& e = at->second;
  if (e.dtype != dtype || e.shape != shape)
    refuse_tensors(file_, fmt::format("tensor \"{}\" is {} [{}], expected {} [{}]: made with another config?",
                                      name, e.dtype, fmt::join(e.shape, ","), dtype, fmt::join(shape, ",")));
  if (e.end > e.begin) std::memcpy(into, data_.data() + e.begin, e.end - e.begin);
  if (dtype == "F32")
    require_finite(name, static_cast<const float*>(into), (e.end - e.begin) / sizeof(float));
}

void TensorFile::require_finite(const std::string& name, const float* values, size_t n) const {
  const float* const bad = std::find_if(values, values + n, [](float v) { return !std::isfinite(v); });
  if (bad != values + n)
    refuse_tensors(
        file_,
        fmt::format(
            "tensor \"{}\" holds a number that is not finite (element {}): damaged, or of a training that "
            "went wrong",
            name, bad - values));
}

std::vector<TensorView> TensorFile::tensors() const {
  std::vector<TensorView> list;
  for (const auto& [name, e] : entries_) list.push_back({name, e.dtype, e.shape, data_.data() + e.begin});
  return list;
}

}  // namespace klab
