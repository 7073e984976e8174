#include "harness/records/tensor_file.h"

#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/records/atomic_file.h"

namespace klab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

[[noreturn]] void refuse_tensors(const fs::path& file, const std::string& what) {
  throw std::runtime_error(file.string() + ": " + what);
}

/// Bytes of an element; 0 for a type that klab has no use for.
size_t width_of(const std::string& dtype) {
  static const std::map<std::string, size_t> widths = {{"F64", 8},  {"F32", 4}, {"F16", 2},
                                                       {"BF16", 2}, {"I64", 8}, {"I32", 4},
                                                       {"U32", 4},  {"I8", 1},  {"U8", 1}};
  const auto at = widths.find(dtype);
  return at == widths.end() ? 0 : at->second;
}

// Product of the dimensions times the element, or the largest size_t when that does not fit.
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
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the data begin 8-byte aligned, padded as the format asks
  const uint64_t length = text.size();
  AtomicFile out(file);
  out.write(&length, 8);
  out.write(text.data(), text.size());
  for (const TensorView& t : tensors) out.write(t.data, bytes_of(t.shape, t.dtype));
  out.commit();
}

TensorFile::TensorFile(const fs::path& file) : file_(file) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in) refuse_tensors(file, "cannot be read (check that it exists)");
  const auto size = std::streamoff(in.tellg());
  in.seekg(0);
  uint64_t length = 0;
  if (size < 8 || !in.read(reinterpret_cast<char*>(&length), 8))
    refuse_tensors(file, "is too short to be a safetensors file");
  if (length > uint64_t(size) - 8)
    refuse_tensors(file, "is cut short inside its header, or is no safetensors file");
  std::string text(length, ' ');
  in.read(text.data(), std::streamsize(length));
  data_.resize(size_t(size) - 8 - length);
  in.read(reinterpret_cast<char*>(data_.data()), std::streamsize(data_.size()));
  if (!in) refuse_tensors(file, "cannot be read to its end");
  try {
    const json header = json::parse(text);
    for (const auto& [name, value] : header.items()) {
      if (name == "__metadata__") {
        metadata_ = value.get<std::map<std::string, std::string>>();
        continue;
      }
      if (!value.is_object()) refuse_tensors(file, fmt::format("tensor \"{}\" has no dtype and shape", name));
      Entry e{value.at("dtype"), value.at("shape"), value.at("data_offsets").at(0),
              value.at("data_offsets").at(1)};
      if (width_of(e.dtype) == 0)
        refuse_tensors(file,
                       fmt::format("tensor \"{}\" has dtype {}, which klab does not read", name, e.dtype));
      if (e.begin > e.end || e.end > data_.size())
        refuse_tensors(file, fmt::format("is cut short: tensor \"{}\" is not all there", name));
      if (e.end - e.begin != bytes_of(e.shape, e.dtype))
        refuse_tensors(file, fmt::format("tensor \"{}\": shape and size disagree", name));
      entries_[name] = std::move(e);
    }
  } catch (const json::exception& e) {
    refuse_tensors(file, fmt::format("has a damaged header ({}), or is no safetensors file", e.what()));
  }
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
  std::memcpy(into, data_.data() + e.begin, e.end - e.begin);
}

std::vector<TensorView> TensorFile::tensors() const {
  std::vector<TensorView> list;
  for (const auto& [name, e] : entries_) list.push_back({name, e.dtype, e.shape, data_.data() + e.begin});
  return list;
}

}  // namespace klab
