#include "labs/radiance/field/field.h"

namespace klab {

Field::Field(const Model& model, const Plan& plan, Profile& profile, int64_t capacity)
    : model_(model),
      plan_(plan),
      profile_(profile),
      capacity_(capacity),
      features_(model.encoded() * capacity),
      color_in_(model.color_in() * capacity),
      rgb_(3 * capacity) {}

int64_t Field::bytes_of(const Model& model, int64_t capacity) {
  return 4 * capacity * (model.encoded() + model.color_in() + 3);
}

void Field::density(const float* table, const float* weights, const float* positions, int64_t n,
                    float* features, float* geometry) const {
  profile_.run("hashgrid_fwd", plan_, "hashgrid_fwd", model_.hash_shape(n),
               {positions, table, nullptr, features});
  profile_.run("mlp_fwd density", plan_, "mlp_fwd", model_.density_shape(n), {features, weights, geometry});
}

void Field::color(const float* weights, const float* directions, int64_t n) {
  const std::array<int64_t, 2> sh = {n, model_.config.sh_degree};
  profile_.time("sh_fwd", [&] { plan_.run("sh_fwd", sh, {directions, color_input()}); });
  profile_.run("mlp_fwd color", plan_, "mlp_fwd", model_.color_shape(n), {color_input(), weights, rgb()});
}

}  // namespace klab
