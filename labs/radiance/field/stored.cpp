#include "labs/radiance/field/stored.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "harness/records/input.h"
#include "harness/records/packed_tensors.h"

namespace klab {
namespace {

/// A tensor of the model, and which of its numbers share a scale.
struct Numbers {
  std::string name;
  Part part;
  std::vector<int64_t> shape, scale_shape;  // the latter for int8
  std::span<float> values;
  std::vector<Channel> channels;
};

/// Splits the table by level at its present size; the spare room of an adaptive table counts to the last
/// level.
std::vector<Channel> channels_of_table(const Model& model) {
  std::vector<Channel> list;
  const int64_t features = model.config.features;
  int64_t offset = 0;
  for (size_t l = 0; l < model.sizes.size(); ++l) {
    const int64_t entries = l + 1 < model.sizes.size() ? model.sizes[l] : model.table_entries() - offset;
    for (int64_t f = 0; f < features; ++f) list.push_back({offset * features + f, entries, features});
    offset += entries;
  }
  return list;
}

bool is_table(const TensorView& t) { return t.name == "hash_table"; }
Part part_of(const TensorView& t) {
  if (is_table(t)) return Part::table;
  return t.name.starts_with("density") ? Part::density : Part::color;
}

/// Lists all of the model's float tensors.
std::vector<Numbers> numbers_of(const Model& model) {
  std::vector<Numbers> list;
  for (const TensorView& t : model.tensors()) {
    if (t.dtype != "F32") continue;
    const bool table = is_table(t);
    auto* const values = static_cast<float*>(const_cast<void*>(t.data));
    list.push_back({.name = t.name,
                    .part = part_of(t),
                    .shape = t.shape,
                    .scale_shape = table ? std::vector<int64_t>{model.config.levels, model.config.features}
                                         : std::vector<int64_t>{t.shape[0]},
                    .values = {values, size_t(t.shape[0] * t.shape[1])},
                    .channels = table ? channels_of_table(model) : rows_of(t.shape[0], t.shape[1])});
  }
  return list;
}

/// How a tensor and its scales are written to the file.
struct StoredForm {
  const char *dtype, *scale_dtype;  // the latter empty: no scales
  std::vector<int64_t> shape, scale_shape;
};

StoredForm form_of(const Numbers& n, Storage storage) {
  const int64_t blocks = blocks_of(int64_t(n.values.size()));
  switch (storage) {
    case Storage::f16:
      return {"F16", "", n.shape, {}};
    case Storage::bf16:
      return {"BF16", "", n.shape, {}};
    case Storage::int8:
      return {"I8", "F32", n.shape, n.scale_shape};
    case Storage::int4:
      return {"U8", "F16", {blocks, kScaleBlock / 2}, {blocks}};
    default:
      return {"U8", "U8", {blocks, kScaleBlock / 2}, {blocks}};
  }
}

StoredError error_of(const Numbers& n, std::span<const float> rounded) {
  StoredError e{.tensor = n.name};
  for (size_t i = 0; i < rounded.size(); ++i) {
    const double off = double(rounded[i]) - double(n.values[i]);
    e.rms += off * off;
    e.rms_of_values += double(n.values[i]) * double(n.values[i]);
    e.worst = std::max(e.worst, std::fabs(off));
  }
  const auto count = double(std::max<size_t>(1, rounded.size()));
  e.rms = std::sqrt(e.rms / count);
  e.rms_of_values = std::sqrt(e.rms_of_values / count);
  return e;
}

void require_finite(const std::string& what, std::span<const float> values) {
  const auto bad = std::ranges::find_if(values, [](float v) { return !std::isfinite(v); });
  if (bad != values.end())
    throw std::runtime_error(fmt::format("{} (element {})", what, bad - values.begin()));
}

/// Names a part's tensors in messages.
const char* tensors_of(Part part) {
  return part == Part::table     ? "the hash table"
         : part == Part::density ? "the density network"
                                 : "the color network";
}

/// Throws the message if a part's 16 bits hold an infinity or NaN.
void require_finite_halves(const Model& model, Part part, const std::string& message) {
  if (has_no_number(model.narrow[size_t(part)], model.precision)) throw std::runtime_error(message);
}

[[noreturn]] void refuse_scale(const std::string& where, const std::string& scale, int64_t element) {
  throw std::runtime_error(fmt::format(
      "{}: tensor \"{}\" holds a scale that is not a finite number above 0 (element {}): damaged; "
      "make the file again with klab quantize",
      where, scale, element));
}

void require_tensor(const TensorFile& file, Storage storage, const std::string& name) {
  const auto all = file.tensors();
  if (std::ranges::find(all, name, &TensorView::name) == all.end())
    throw std::runtime_error(
        fmt::format("{}: a model stored as {} needs the tensor \"{}\", which is not there: make the file "
                    "again with klab quantize",
                    file.path().string(), name_of(storage), name));
}

/// Returns whether a tensor of a file in fewer bits stayed floats, as its metadata say.
bool is_float(const TensorFile& file, const std::string& name) {
  if (!keeps_floats(file)) return false;
  const std::string& list = file.metadata("floats");
  return ("," + list + ",").find("," + name + ",") != std::string::npos;
}

}  // namespace

std::vector<StoredError> save_stored(const Model& model, Storage storage, const std::filesystem::path& file,
                                     const StoringOptions& options) {
  const std::vector<Numbers> all = numbers_of(model);
  std::vector<Encoded> encoded;
  std::vector<TensorView> views;
  std::vector<StoredError> errors;
  encoded.reserve(all.size());  // views point into it
  for (const Numbers& n : all) {
    if (storage == Storage::f32 || std::ranges::find(options.floats, n.name) != options.floats.end()) {
      views.push_back({n.name, "F32", n.shape, n.values.data()});
      continue;
    }
    const StoredForm form = form_of(n, storage);
    const Encoded& e = encoded.emplace_back(encode_numbers(storage, n.values, n.channels));
    std::vector<float> rounded(n.values.size());
    decode_numbers(storage, e, n.channels, rounded);
    require_finite(fmt::format("\"{}\" holds a number that {} cannot: take --format bf16 or int8", n.name,
                               name_of(storage)),
                   rounded);
    errors.push_back(error_of(n, rounded));
    views.push_back({n.name, form.dtype, form.shape, e.numbers.data()});
    if (!e.scales.empty())
      views.push_back({n.name + ".scale", form.scale_dtype, form.scale_shape, e.scales.data()});
  }
  for (const TensorView& t : model.tensors())
    if (t.dtype != "F32") views.push_back(t);
  auto metadata = model.metadata();
  if (storage != Storage::f32) metadata["storage"] = name_of(storage);
  if (storage != Storage::f32 && !options.floats.empty())
    metadata["floats"] = fmt::format("{}", fmt::join(options.floats, ","));
  if (options.packed)
    save_tensors(file, PackedTensors(views).views(), metadata);
  else
    save_tensors(file, views, metadata);
  return errors;
}

bool keeps_floats(const TensorFile& file) { return file.has_metadata("floats"); }

Storage storage_in(const TensorFile& file) {
  if (!file.has_metadata("storage")) return Storage::f32;
  try {
    return storage_named(file.metadata("storage"));
  } catch (const std::invalid_argument&) {
    throw std::runtime_error(fmt::format("{}: its storage is \"{}\"; there are {}", file.path().string(),
                                         excerpt(file.metadata("storage")), storage_names()));
  }
}

void read_stored(const TensorFile& file, Storage storage, Model& model) {
  // Read the sizes of levels first: they decide which numbers share a scale.
  for (const TensorView& t : model.tensors())
    if (t.dtype != "F32") file.read(t.name, t.dtype, t.shape, const_cast<void*>(t.data));
  model.require_plausible_sizes(file.path().string());
  for (const Numbers& n : numbers_of(model)) {
    const StoredForm form = form_of(n, storage);
    const auto count = int64_t(n.values.size());
    const std::string scale = n.name + ".scale";
    require_tensor(file, storage, n.name);
    if (is_float(file, n.name)) {
      read_packed(file, n.name, "F32", n.shape, n.values.data());
      continue;
    }
    Encoded e;
    e.numbers.resize(size_t(stored_bytes(count, storage)));
    e.scales.resize(size_t(scale_bytes(count, int64_t(n.channels.size()), storage)));
    read_packed(file, n.name, form.dtype, form.shape, e.numbers.data());
    if (!e.scales.empty()) {
      require_tensor(file, storage, scale);
      file.read(scale, form.scale_dtype, form.scale_shape, e.scales.data());
      if (const int64_t bad = first_bad_scale(storage, e); bad >= 0)
        refuse_scale(file.path().string(), scale, bad);
    }
    decode_numbers(storage, e, n.channels, n.values);
    require_finite(fmt::format("{}: tensor \"{}\" holds a number that is not finite: damaged",
                               file.path().string(), n.name),
                   n.values);
  }
}

void read_narrow(const TensorFile& file, Model& model) {
  const std::string where = file.path().string();
  for (const TensorView& t : model.tensors()) {
    require_tensor(file, model.precision, t.name);
    read_packed(file, t.name, t.dtype, t.shape, const_cast<void*>(t.data));
    if (!t.name.ends_with(".scale")) continue;
    const std::span scales(static_cast<const float*>(t.data), size_t(volume(t.shape)));
    if (const auto bad = std::ranges::find_if(scales, [](float s) { return !(s > 0); }); bad != scales.end())
      refuse_scale(where, t.name, bad - scales.begin());
  }
  model.require_plausible_sizes(where);
  for (const Part part : kParts)
    require_finite_halves(
        model, part,
        fmt::format("{}: {} holds a number that is not finite: damaged", where, tensors_of(part)));
}

Model narrowed(Model floats, Storage precision) {
  Model out(floats.config, floats.placement, precision);
  out.scales = std::move(floats.scales);
  out.sizes = floats.sizes;  // decide which numbers of the table share a scale
  std::copy(floats.occupancy.begin(), floats.occupancy.end(), out.occupancy.begin());
  std::array<int64_t, 3> numbers{}, factors{};  // of each part so far
  for (const Numbers& n : numbers_of(floats)) {
    const auto part = size_t(n.part);
    narrow_into(out.narrow[part], precision, n.values, n.channels, numbers[part], factors[part]);
    numbers[part] += int64_t(n.values.size());
    factors[part] += int64_t(n.channels.size());
    if (n.part == Part::table) floats.parameters[part] = Array<float>();
  }
  for (const Part part : kParts)
    require_finite_halves(out, part,
                          fmt::format("{} holds a number that {} cannot: take --precision bf16 or int8",
                                      tensors_of(part), name_of(precision)));
  return out;
}

void round_as_stored(Model& model, Part part, Storage storage) {
  if (storage == Storage::f32) return;
  for (const TensorView& t : model.tensors())
    if (t.dtype == "F32" && part_of(t) == part)
      for (const Numbers& n : numbers_of(model))
        if (n.name == t.name)
          decode_numbers(storage, encode_numbers(storage, n.values, n.channels), n.channels, n.values);
}

}  // namespace klab
