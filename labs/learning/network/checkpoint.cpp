#include "labs/learning/network/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "harness/records/packed_tensors.h"
#include "harness/records/tensor_file.h"

namespace klab::learning {
namespace {

std::vector<TensorView> views_of(Network& network, Step* step) {
  std::vector<TensorView> list;
  for (const Tensor& t : network.parameters().tensors()) list.push_back({t.name, "F32", t.dims, t.value});
  const auto keep = [&](const std::vector<Kept>& kept) {
    for (const Kept& k : kept) list.push_back({k.name, "F32", k.dims, k.values});
  };
  keep(network.kept());
  if (step == nullptr) return list;
  keep(step->kept());
  for (const bool decays : {false, true})
    list.push_back(
        {decays ? "optimizer.decayed.steps" : "optimizer.others.steps", "I32", {1}, step->count(decays)});
  return list;
}

}  // namespace

void save_network(const std::filesystem::path& file, Network& network, Step* step,
                  const std::map<std::string, std::string>& words, bool packed) {
  const std::vector<TensorView> views = views_of(network, step);
  if (packed)
    save_tensors(file, PackedTensors(views).views(), words);
  else
    save_tensors(file, views, words);
}

void load_network(const std::filesystem::path& file, Network& network, Step* step,
                  const std::map<std::string, std::string>& must, std::map<std::string, std::string>& words) {
  const TensorFile in(file);
  for (const auto& [key, value] : must) {
    if (!in.has_metadata(key))
      throw std::runtime_error(
          fmt::format("{}: says nothing of \"{}\": no checkpoint of klab classify", file.string(), key));
    if (in.metadata(key) != value)
      throw std::runtime_error(
          fmt::format("{}: its {} is {}, and this run's is {}: give the same --{}, or start again",
                      file.string(), key, in.metadata(key), value, key));
  }
  const auto views = views_of(network, step);
  const auto there = in.tensors();
  const auto known = [&](const std::string& name) {
    return std::ranges::any_of(
        views, [&](const TensorView& v) { return name == v.name || name == kept_bits_of(v.name); });
  };
  for (const TensorView& v : there)
    if (!known(v.name) && !v.name.starts_with("optimizer."))
      throw std::runtime_error(
          fmt::format("{}: tensor \"{}\" belongs to no layer of this model: it is another "
                      "model's; give the --model that it was trained with",
                      file.string(), v.name));
  for (const TensorView& v : views) read_packed(in, v.name, v.dtype, v.shape, const_cast<void*>(v.data));
  for (auto& [key, value] : words)
    if (in.has_metadata(key)) value = in.metadata(key);
}

}  // namespace klab::learning
