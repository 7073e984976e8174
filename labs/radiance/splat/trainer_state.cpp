// State of a trainer of Gaussians that a resumed run needs.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "harness/records/numbers.h"
#include "labs/radiance/field/optimizer.h"
#include "labs/radiance/splat/trainer.h"

namespace klab {
namespace {

constexpr const char* kNames[] = {"position", "log_scale", "quaternion", "opacity_raw", "coefficients"};

std::string text_of(const std::mt19937_64& random) {
  std::ostringstream out;
  out << random;
  return out.str();
}

}  // namespace

void SplatTrainer::save_state(std::vector<TensorView>& tensors, nlohmann::json& state) const {
  for (size_t k = 0; k < moments_.size(); ++k)
    for (const TensorView& t : moment_tensors(kNames[k], moments_[k])) tensors.push_back(t);
  tensors.push_back({"seen.pull", "F32", {int64_t(seen_.pull.size())}, seen_.pull.data()});
  tensors.push_back({"seen.views", "I32", {int64_t(seen_.seen.size())}, seen_.seen.data()});
  state["step"] = steps_;
  state["views"] = views_;
  state["random"] = text_of(random_);
  state["was_reset"] = was_reset_;
}

void SplatTrainer::restore_state(const TensorFile& file, const nlohmann::json& state,
                                 const std::string& where) {
  const auto damaged = [&](const char* what) {
    throw std::runtime_error(where + ": \"" + what + "\" is damaged");
  };
  for (size_t k = 0; k < moments_.size(); ++k) {
    const Moments& m = moments_[k];
    for (const TensorView& t : moment_tensors(kNames[k], m))
      file.read(t.name, t.dtype, t.shape, const_cast<void*>(t.data));
    if (std::ranges::any_of(m.v, [](float v) { return v < 0; }) ||
        std::ranges::any_of(m.steps, [](int32_t s) { return s < 0; }))
      throw std::runtime_error(where + ": optimizer." + kNames[k] +
                               " is damaged: counts or second moments that no training has");
  }
  file.read("seen.pull", "F32", {int64_t(seen_.pull.size())}, seen_.pull.data());
  file.read("seen.views", "I32", {int64_t(seen_.seen.size())}, seen_.seen.data());
  steps_ = number_in<int64_t>(state, "step", {0, range::steps.high}, where);
  views_.clear();
  const auto views = state.find("views"), random = state.find("random"), reset = state.find("was_reset");
  if (views == state.end() || !views->is_array()) damaged("views");
  for (const nlohmann::json& v : *views)
    views_.push_back(number_of<int32_t>(v, "views", {0, double(scene_.train.size()) - 1}, where));
  if (random == state.end() || !random->is_string()) damaged("random");
  std::istringstream in(random->get<std::string>());
  if (!(in >> random_)) damaged("random");
  if (reset == state.end() || !reset->is_boolean()) damaged("was_reset");
  was_reset_ = reset->get<bool>();
}

}  // namespace klab
