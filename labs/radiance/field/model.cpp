#include "labs/radiance/field/model.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "labs/radiance/field/optimizer.h"
#include "labs/radiance/field/random.h"
#include "reference/hashgrid_fwd/hashgrid_fwd.h"

namespace klab {
namespace {

struct Layer {
  std::string name;
  int64_t to, from;
};

std::vector<Layer> layers_of(const char* name, const std::array<int64_t, 6>& mlp) {
  const auto [n, in, width, hidden, out, logistic] = mlp;
  std::vector<Layer> layers;
  for (int64_t l = 0; l <= hidden; ++l)
    layers.push_back({fmt::format("{}.{}", name, l), l == hidden ? out : width, l == 0 ? in : width});
  return layers;
}

int64_t finest(const Config& c, int cascades) { return c.finest_resolution << (cascades - 1); }

int64_t entries_of(const Config& c, int cascades) {
  return hashgrid_entries(hashgrid_levels({.n = 0,
                                           .dim = 3,
                                           .levels = c.levels,
                                           .features = c.features,
                                           .log2_table = c.log2_table,
                                           .base = c.base_resolution,
                                           .finest = finest(c, cascades)}));
}

}  // namespace

Model::Model(const Config& c, const Placement& p) : config(c), placement(p) {
  parameters[size_t(Part::table)] = Array<float>(table_entries() * c.features);
  parameters[size_t(Part::density)] = Array<float>(density_weights());
  parameters[size_t(Part::color)] = Array<float>(color_weights());
  occupancy = Array<uint8_t>(p.cascades * c.grid * c.grid * c.grid / 8);
}

std::array<int64_t, 8> Model::hash_shape(int64_t n) const {
  return {n,
          3,
          config.levels,
          config.features,
          config.log2_table,
          config.base_resolution,
          finest(config, placement.cascades),
          1};
}
std::array<int64_t, 6> Model::density_shape(int64_t n) const {
  return {n, encoded(), config.width, config.density_hidden, config.geometry_features, 0};
}
std::array<int64_t, 6> Model::color_shape(int64_t n) const {
  return {n, color_in(), config.width, config.color_hidden, 3, 1};
}
int64_t Model::density_weights() const { return mlp_weights(density_shape(0)); }
int64_t Model::color_weights() const { return mlp_weights(color_shape(0)); }
int64_t Model::table_entries() const { return entries_of(config, placement.cascades); }

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
  list.push_back({"hash_table", "F32", {table_entries(), config.features}, of(Part::table).data()});
  for (const Part part : {Part::density, Part::color}) {
    const float* at = of(part).data();
    const bool density = part == Part::density;
    for (const Layer& layer :
         layers_of(density ? "density" : "color", density ? density_shape(0) : color_shape(0))) {
      list.push_back({layer.name, "F32", {layer.to, layer.from}, at});
      at += layer.to * layer.from;
    }
  }
  const int64_t g = config.grid;
  list.push_back({"occupancy", "U8", {placement.cascades, g * g * g / 8}, occupancy.data()});
  return list;
}

std::map<std::string, std::string> Model::metadata() const {
  const nlohmann::json place = {{"cascades", placement.cascades},
                                {"scale", placement.scale},
                                {"offset", {placement.offset.x, placement.offset.y, placement.offset.z}},
                                {"near", placement.near},
                                {"black", placement.black}};
  return {{"klab", "hash-nerf 1"}, {"config", config_to_json(config)}, {"placement", place.dump()}};
}

void Model::save(const std::filesystem::path& file) const { save_tensors(file, tensors(), metadata()); }

void read_model(const TensorFile& file, Model& model) {
  for (const TensorView& t : model.tensors()) file.read(t.name, t.dtype, t.shape, const_cast<void*>(t.data));
}

Model Model::load(const std::filesystem::path& path) {
  const TensorFile file(path);
  if (file.metadata("klab") != "hash-nerf 1")
    throw std::runtime_error(path.string() + ": holds \"" + file.metadata("klab") +
                             "\", not a hash-nerf model of version 1");
  const Config config = config_from_json(file.metadata("config"), path.string() + ", its config");
  Placement placement;
  try {
    const auto place = nlohmann::json::parse(file.metadata("placement"));
    placement.cascades = place.at("cascades");
    placement.scale = place.at("scale");
    placement.offset = {place.at("offset").at(0), place.at("offset").at(1), place.at("offset").at(2)};
    placement.near = place.at("near");
    placement.black = place.at("black");
  } catch (const nlohmann::json::exception& e) {
    throw std::runtime_error(path.string() + ": damaged placement: " + e.what());
  }
  if (placement.cascades < 1 || placement.cascades > 8 || !(placement.scale > 0))
    throw std::runtime_error(path.string() + ": damaged placement: cascades or scale out of range");
  Model model(config, placement);
  read_model(file, model);
  return model;
}

int64_t Model::bytes_of(const Config& c, int cascades) {
  return entries_of(c, cascades) * c.features * 4 + cascades * c.grid * c.grid * c.grid / 8;
}

}  // namespace klab
