#include "labs/radiance/field/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "harness/program/random.h"
#include "harness/records/input.h"
#include "harness/records/packed_tensors.h"
#include "labs/radiance/field/optimizer.h"
#include "labs/radiance/field/stored.h"

namespace klab {
namespace {

struct Layer {
  std::string name;
  int64_t to, from;
};

std::vector<Layer> layers_of(const char* name, const MlpFwd::Shape& mlp) {
  std::vector<Layer> layers;
  for (int64_t l = 0; l < mlp.layers(); ++l)
    layers.push_back({fmt::format("{}.{}", name, l), mlp.to(l), mlp.from(l)});
  return layers;
}

}  // namespace

MlpFwd::Shape density_shape(const Config& c, int64_t n) {
  return {.n = n,
          .in = c.levels * c.features,
          .width = c.width,
          .hidden = c.density_hidden,
          .out = c.geometry_features,
          .logistic = 0};
}

MlpFwd::Shape color_shape(const Config& c, int64_t n) {
  return {.n = n,
          .in = direction_features(c) + c.geometry_features,
          .width = c.color_width > 0 ? c.color_width : c.width,
          .hidden = c.color_hidden,
          .out = 3,
          .logistic = 1};
}

Model::Model(const Config& c, const Placement& p, Storage held) : config(c), placement(p), precision(held) {
  const MlpFwd::Shape density = density_shape(0), color = color_shape(0);
  const std::array numbers = {table_entries() * c.features, density.weights(), color.weights()};
  const std::array factors = {c.levels * c.features, density.hidden * density.width + density.out,
                              color.hidden * color.width + color.out};
  for (size_t k = 0; k < parameters.size(); ++k) {
    if (precision == Storage::f32)
      parameters[k] = Array<float>(numbers[k]);
    else
      narrow[k] = NarrowPart(precision, numbers[k], factors[k]);
  }
  occupancy = Array<uint8_t>(p.cascades * c.grid * c.grid * c.grid / 8);
  scales = table_scales(c, p.cascades);
  sizes = table_sizes(c, p.cascades);
}

MlpNarrowFwd::Shape narrow_shape(const MlpFwd::Shape& s, Storage precision) {
  return {s.n, s.in, s.width, s.hidden, s.out, s.logistic, narrow_format_of(precision)};
}

int64_t Model::held_bytes() const {
  int64_t bytes = 0;
  for (const Part part : kParts) bytes += of(part).bytes() + narrow[size_t(part)].held();
  return bytes;
}

int64_t Model::density_weights() const { return density_shape(0).weights(); }
int64_t Model::color_weights() const { return color_shape(0).weights(); }
int64_t Model::table_entries() const { return table_room(config, placement.cascades); }
int64_t Model::entries_in_use() const { return std::accumulate(sizes.begin(), sizes.end(), int64_t(0)); }

void Model::initialize(uint64_t seed) {
  const Draws table(seed, 0, 100);
  for (int64_t i = 0; i < of(Part::table).size(); ++i)
    of(Part::table)[i] = 2e-4F * (table.unit(uint64_t(i)) - 0.5F);
  xavier_uniform(density_shape(0), seed, 102, of(Part::density).data());
  xavier_uniform(color_shape(0), seed, 103, of(Part::color).data());
  std::fill(occupancy.begin(), occupancy.end(), uint8_t(0xFF));
}

std::vector<TensorView> Model::tensors() const {
  std::vector<TensorView> list;
  // A tensor of a part that begins behind `first` numbers, and its scales behind `row_first` others.
  const auto add = [&](const std::string& name, Part part, const std::vector<int64_t>& shape, int64_t first,
                       const std::vector<int64_t>& scale_shape, int64_t row_first) {
    const NarrowPart& few = narrow[size_t(part)];
    if (precision == Storage::f32) {
      list.push_back({name, "F32", shape, of(part).data() + first});
    } else if (precision == Storage::int8) {
      list.push_back({name, "I8", shape, few.bytes.data() + first});
      list.push_back({name + ".scale", "F32", scale_shape, few.factors.data() + row_first});
    } else {
      list.push_back({name, precision == Storage::f16 ? "F16" : "BF16", shape, few.halves.data() + first});
    }
  };
  add("hash_table", Part::table, {table_entries(), config.features}, 0, {config.levels, config.features}, 0);
  for (const Part part : {Part::density, Part::color}) {
    const bool density = part == Part::density;
    int64_t first = 0, row = 0;
    for (const Layer& layer :
         layers_of(density ? "density" : "color", density ? density_shape(0) : color_shape(0))) {
      add(layer.name, part, {layer.to, layer.from}, first, {layer.to}, row);
      first += layer.to * layer.from;
      row += layer.to;
    }
  }
  const int64_t g = config.grid;
  list.push_back({"occupancy", "U8", {placement.cascades, g * g * g / 8}, occupancy.data()});
  if (has_adaptive_table(config)) list.push_back({"table_sizes", "I64", {config.levels}, sizes.data()});
  return list;
}

std::map<std::string, std::string> Model::metadata() const {
  std::map<std::string, std::string> words = {{"klab", "hash-nerf 1"},
                                              {"config", config_to_json(config)},
                                              {"placement", placement_to_json(placement)}};
  if (precision != Storage::f32) words["storage"] = name_of(precision);
  return words;
}

void Model::save(const std::filesystem::path& file) const { save_tensors(file, tensors(), metadata()); }

Model Model::copy() const {
  if (precision != Storage::f32) throw std::logic_error("only a model of floats is copied");
  Model out(config, placement);
  out.sizes = sizes;
  std::copy(occupancy.begin(), occupancy.end(), out.occupancy.begin());
  for (const Part part : kParts) std::copy(of(part).begin(), of(part).end(), out.of(part).begin());
  return out;
}

void read_model(const TensorFile& file, Model& model) {
  for (const TensorView& t : model.tensors())
    read_packed(file, t.name, t.dtype, t.shape, const_cast<void*>(t.data));
  model.require_plausible_sizes(file.path().string());
}

void Model::require_plausible_sizes(const std::string& where) const {
  if (!has_adaptive_table(config)) return;
  const std::vector<int64_t> least = smallest_table_sizes(config, placement.cascades),
                             most = largest_table_sizes(config, placement.cascades);
  bool fine = true;
  for (size_t l = 0; l < sizes.size(); ++l)
    fine = fine && sizes[l] >= least[l] && sizes[l] % 8 == 0 && sizes[l] <= most[l];
  if (fine && entries_in_use() <= table_entries()) return;
  throw std::runtime_error(where + ": \"table_sizes\" is damaged: sizes that no table of its config has");
}

namespace {

/// Reads the model of an opened file, as floats unless the file has the precision that is asked for.
Model read_any(const TensorFile& file, Storage precision) {
  const std::string path = file.path().string();
  if (file.metadata("klab") != "hash-nerf 1")
    throw std::runtime_error(path + ": holds \"" + excerpt(file.metadata("klab")) +
                             "\", not a hash-nerf model of version 1");
  const Config config = config_from_json(file.metadata("config"), path + ", its config");
  const Placement placement = placement_from(file);
  const Storage storage = storage_in(file);
  // Check the size before memory is allocated. A packed table has at least a bit for each entry.
  const int64_t entries = table_room(config, placement.cascades), numbers = entries * config.features;
  const int64_t least =
      is_packed(file, "hash_table") ? entries / 8 : std::min(4 * numbers, stored_bytes(numbers, storage));
  if (size_t(Model::bytes_of(config, placement.cascades) - 4 * numbers + least) > file.data_bytes())
    throw std::runtime_error(path + ": holds less than its config says: damaged");
  const bool as_stored = storage == precision && !keeps_floats(file);
  Model model(config, placement, as_stored ? precision : Storage::f32);
  if (storage == Storage::f32)
    read_model(file, model);
  else if (as_stored)
    read_narrow(file, model);
  else
    read_stored(file, storage, model);
  return model;
}

}  // namespace

Model Model::load(const std::filesystem::path& path, Storage precision) {
  Model model = read_any(TensorFile(path), precision);  // the file's bytes are let go here
  return model.precision == precision ? std::move(model) : narrowed(std::move(model), precision);
}

int64_t Model::bytes_of(const Config& c, int cascades) {
  return table_room(c, cascades) * c.features * 4 + cascades * c.grid * c.grid * c.grid / 8;
}

}  // namespace klab
