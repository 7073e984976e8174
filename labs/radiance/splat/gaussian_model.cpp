#include "labs/radiance/splat/gaussian_model.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/records/input.h"
#include "harness/records/numbers.h"
#include "labs/radiance/field/settings.h"

namespace klab {

std::vector<TensorView> GaussianModel::tensors() const {
  const int64_t n = set.n, functions = int64_t(set.degree + 1) * (set.degree + 1);
  return {{"position", "F32", {3, n}, set.position.data()},
          {"log_scale", "F32", {3, n}, set.log_scale.data()},
          {"quaternion", "F32", {4, n}, set.quaternion.data()},
          {"opacity_raw", "F32", {n}, set.opacity_raw.data()},
          {"coefficients", "F32", {functions, 3, n}, set.coefficients.data()}};
}

std::map<std::string, std::string> GaussianModel::metadata() const {
  return {{"klab", kind},
          {"config", settings_to_json(config)},
          {"placement", placement_to_json(placement)},
          {"gaussians", nlohmann::json{{"n", set.n}, {"degree", set.degree}}.dump()}};
}

void GaussianModel::save(const std::filesystem::path& file) const {
  save_tensors(file, tensors(), metadata());
}

GaussianModel GaussianModel::load(const std::filesystem::path& path) {
  const TensorFile file(path);
  if (file.metadata("klab") != kind)
    throw std::runtime_error(path.string() + ": holds \"" + excerpt(file.metadata("klab")) +
                             "\", not Gaussians of version 1");
  return read(file);
}

GaussianModel GaussianModel::read(const TensorFile& file) {
  const std::string path = file.path().string(), where = path + ", its gaussians";
  GaussianModel model;
  model.config = settings_from_json<GaussianConfig>(file.metadata("config"), path + ", its config");
  model.placement = placement_from(file);
  const nlohmann::json size = parse_json(file.metadata("gaussians"), where);
  const auto n = number_in<int64_t>(size, "n", {1, 1e8}, where);
  const auto degree = number_in<int>(size, "degree", {0, 3}, where);
  // Check the size before memory is allocated.
  if (size_t(4 * n * (11 + 3 * (degree + 1) * (degree + 1))) > file.data_bytes())
    throw std::runtime_error(path + ": holds less than its metadata say: damaged");
  model.set = GaussianSet::zeros(n, degree);
  model.set.antialiased = model.config.antialias == "yes";
  for (const TensorView& t : model.tensors()) file.read(t.name, t.dtype, t.shape, const_cast<void*>(t.data));
  return model;
}

}  // namespace klab
