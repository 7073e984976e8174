#include "labs/radiance/field/field.h"

#include "reference/frequency_fwd/frequency_fwd.h"
#include "reference/mlp_int8_fwd/mlp_int8_fwd.h"
#include "reference/sh_fwd/sh_fwd.h"

namespace klab {

bool multiplies_bytes(const Plan& plan) {
  const std::string bytes(MlpInt8Fwd::name), floats(MlpNarrowFwd::name);
  if (!plan.contains(bytes) || !plan.contains(floats)) return false;
  const double of_bytes = plan.at(bytes).seconds, of_floats = plan.at(floats).seconds;
  return of_floats > 0 && of_bytes < of_floats;  // 0: named, not timed
}

Field::Field(const Model& model, const Plan& plan, Profile& profile, int64_t capacity)
    : model_(model),
      plan_(plan),
      profile_(profile),
      capacity_(capacity),
      bytes_(model.precision == Storage::int8 && multiplies_bytes(plan)),
      features_(model.encoded() * capacity),
      color_in_(model.color_in() * capacity),
      rgb_(3 * capacity) {}

int64_t Field::bytes_of(const Config& c, int64_t capacity) {
  return 4 * capacity * (c.levels * c.features + color_shape(c, 0).in + 3);
}

void Field::density(const float* table, const float* weights, const float* positions, int64_t n,
                    float* features, float* geometry) const {
  const int cascades = model_.placement.cascades;
  if (model_.precision != Storage::f32) {
    const NarrowPart& few = model_.narrow[size_t(Part::table)];
    profile_.run<HashtableNarrowFwd>(
        "hashtable_narrow_fwd", plan_,
        {.shape = narrow_table_shape(model_.config, cascades, n, narrow_format_of(model_.precision)),
         .positions = positions,
         .scales = model_.scales.data(),
         .sizes = model_.sizes.data(),
         .halves = few.halves.data(),
         .bytes = few.bytes.data(),
         .factors = few.factors.data(),
         .features = features});
    run_narrow("density", Part::density, model_.density_shape(n), features, geometry);
    return;
  }
  if (has_plain_table(model_.config)) {
    profile_.run<HashgridFwd>("hashgrid_fwd", plan_,
                              {.shape = hash_shape(model_.config, cascades, n),
                               .positions = positions,
                               .table = table,
                               .table_half = nullptr,
                               .features = features});
  } else {
    profile_.run<HashtableFwd>("hashtable_fwd", plan_,
                               {.shape = table_shape(model_.config, cascades, n),
                                .positions = positions,
                                .scales = model_.scales.data(),
                                .sizes = model_.sizes.data(),
                                .table = table,
                                .features = features});
  }
  profile_.run<MlpFwd>("mlp_fwd density", plan_,
                       {.shape = model_.density_shape(n), .x = features, .weights = weights, .y = geometry});
}

void Field::run_narrow(const char* network, Part part, const MlpFwd::Shape& shape, const float* x,
                       float* y) const {
  const NarrowPart& few = model_.narrow[size_t(part)];
  if (bytes_)
    return profile_.run<MlpInt8Fwd>(
        std::string("mlp_int8_fwd ") + network, plan_,
        {.shape = shape, .x = x, .bytes = few.bytes.data(), .factors = few.factors.data(), .y = y});
  profile_.run<MlpNarrowFwd>(std::string("mlp_narrow_fwd ") + network, plan_,
                             {.shape = narrow_shape(shape, model_.precision),
                              .x = x,
                              .halves = few.halves.data(),
                              .bytes = few.bytes.data(),
                              .factors = few.factors.data(),
                              .y = y});
}

void Field::color(const float* weights, const float* directions, int64_t n) {
  const Config& c = model_.config;
  if (c.directions == "octaves")
    profile_.time("frequency_fwd", [&] {
      plan_.run<FrequencyFwd>({.shape = {.n = n, .dim = 3, .octaves = c.direction_octaves},
                               .positions = directions,
                               .features = color_input()});
    });
  else
    profile_.time("sh_fwd", [&] {
      plan_.run<ShFwd>(
          {.shape = {.n = n, .degree = c.sh_degree}, .directions = directions, .basis = color_input()});
    });
  if (model_.precision != Storage::f32)
    return run_narrow("color", Part::color, model_.color_shape(n), color_input(), rgb());
  profile_.run<MlpFwd>("mlp_fwd color", plan_,
                       {.shape = model_.color_shape(n), .x = color_input(), .weights = weights, .y = rgb()});
}

}  // namespace klab
