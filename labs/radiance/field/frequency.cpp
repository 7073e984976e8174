#include "labs/radiance/field/frequency.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "harness/program/random.h"
#include "harness/records/input.h"
#include "harness/records/packed_tensors.h"
#include "labs/radiance/field/settings.h"

namespace klab {

void FrequencyConfig::validate() const {
  if (width % 2 != 0) throw std::invalid_argument("config: \"width\" must be even");
  if (coarse + fine > chunk)
    throw std::invalid_argument(
        "config: \"chunk\" must have room for a ray, \"coarse\" and \"fine\" samples");
  if (far != 0 && far <= near) throw std::invalid_argument("config: \"far\" must be 0 or above \"near\"");
}

FrequencyConfig frequency_config_from_json(const std::string& text, const std::string& where) {
  return settings_from_json<FrequencyConfig>(text, where);
}

FrequencyNet::FrequencyNet(const FrequencyConfig& c) {
  const auto add = [&](const std::string& name, int64_t to, int64_t from) {
    layers.push_back({name, to, from, size, size + to * from, numbers, rows});
    size += to * from + to;
    numbers += to * from;
    rows += to;
  };
  for (int64_t l = 0; l < c.depth; ++l)
    add(fmt::format("trunk.{}", l), c.width,
        l == 0 ? c.point_features() : c.width + (l == c.skip ? c.point_features() : 0));
  add("density", 1, c.width);
  add("feature", c.width, c.width);
  add("view", c.width / 2, c.width + c.direction_features());
  add("color", 3, c.width / 2);
}

FrequencyModel::FrequencyModel(const FrequencyConfig& c, const Placement& p) : config(c), placement(p) {
  for (Array<float>& a : parameters) a = Array<float>(FrequencyNet(c).size);
}

// Draws weights uniformly in ±sqrt(6/(from+to)) (Glorot and Bengio 2010); biases are 0.
void FrequencyModel::initialize(uint64_t seed) {
  for (size_t k = 0; k < parameters.size(); ++k) {
    const Draws draws(seed, 0, 200 + k);
    for (const FrequencyNet::Layer& l : FrequencyNet(config).layers) {
      const float limit = std::sqrt(6.0F / float(l.from + l.to));
      for (int64_t i = l.weights; i < l.bias; ++i)
        parameters[k][i] = limit * (2 * draws.unit(uint64_t(i)) - 1);
    }
  }
}

FrequencyModel FrequencyModel::copy() const {
  FrequencyModel out(config, placement);
  for (size_t k = 0; k < parameters.size(); ++k)
    std::copy(parameters[k].begin(), parameters[k].end(), out.parameters[k].begin());
  return out;
}

FrequencyNumbers FrequencyModel::numbers(int network, bool pairs) const {
  const auto k = size_t(network);
  if (precision == Storage::f32) return {.parameters = parameters[k].data()};
  return {.parameters = nullptr,
          .precision = precision,
          .matrices = &matrices[k],
          .biases = biases[k].data(),
          .pairs = pairs};
}

int64_t FrequencyModel::held_bytes() const {
  int64_t bytes = 0;
  for (size_t k = 0; k < parameters.size(); ++k)
    bytes += parameters[k].bytes() + matrices[k].held() + biases[k].bytes();
  return bytes;
}

FrequencyModel FrequencyModel::narrowed(Storage few) const {
  FrequencyModel out(config, placement);
  const FrequencyNet net(config);
  out.precision = few;
  for (size_t k = 0; k < parameters.size(); ++k) {
    out.parameters[k] = Array<float>();
    out.matrices[k] = NarrowPart(few, net.numbers, net.rows);
    out.biases[k] = Array<float>(net.rows);
    const float* from = parameters[k].data();
    for (const FrequencyNet::Layer& l : net.layers) {
      narrow_into(out.matrices[k], few, {from + l.weights, size_t(l.to * l.from)}, rows_of(l.to, l.from),
                  l.first, l.row);
      std::copy_n(from + l.bias, l.to, out.biases[k].data() + l.row);
    }
    if (has_no_number(out.matrices[k], few))
      throw std::runtime_error(
          fmt::format("a matrix holds a number that {} cannot: take --precision bf16 or int8", name_of(few)));
  }
  return out;
}

std::vector<TensorView> FrequencyModel::tensors() const {
  std::vector<TensorView> list;
  const char* const names[] = {"coarse.", "fine."};
  for (size_t k = 0; k < parameters.size(); ++k)
    for (const FrequencyNet::Layer& l : FrequencyNet(config).layers) {
      const float* p = parameters[k].data();
      list.push_back({names[k] + l.name + ".weight", "F32", {l.to, l.from}, p + l.weights});
      list.push_back({names[k] + l.name + ".bias", "F32", {l.to}, p + l.bias});
    }
  return list;
}

std::map<std::string, std::string> FrequencyModel::metadata() const {
  return {{"klab", kind}, {"config", settings_to_json(config)}, {"placement", placement_to_json(placement)}};
}

void FrequencyModel::save(const std::filesystem::path& file) const {
  save_tensors(file, tensors(), metadata());
}

FrequencyModel FrequencyModel::load(const std::filesystem::path& path) {
  const TensorFile file(path);
  if (file.metadata("klab") != kind)
    throw std::runtime_error(path.string() + ": holds \"" + excerpt(file.metadata("klab")) +
                             "\", not a frequency field of version 1");
  return read(file);
}

FrequencyModel FrequencyModel::read(const TensorFile& file) {
  const std::string path = file.path().string();
  const FrequencyConfig config = frequency_config_from_json(file.metadata("config"), path + ", its config");
  // Check the size before memory is allocated: a packed matrix has at least a bit for each number.
  if (size_t(2 * FrequencyNet(config).size / 8) > file.data_bytes())
    throw std::runtime_error(path + ": holds less than its config says: damaged");
  FrequencyModel model(config, placement_from(file));
  for (const TensorView& t : model.tensors())
    read_packed(file, t.name, t.dtype, t.shape, const_cast<void*>(t.data));
  return model;
}

}  // namespace klab
