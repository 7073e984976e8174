#include "labs/radiance/train/step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reference/all_finite/all_finite.h"
#include "reference/axpy/axpy.h"
#include "reference/hashgrid_bwd/hashgrid_bwd.h"
#include "reference/hashtable_bwd/hashtable_bwd.h"
#include "reference/mlp_bwd/mlp_bwd.h"
#include "reference/ray_march/ray_march.h"
#include "reference/sh_fwd/sh_fwd.h"
#include "reference/visible_compact/visible_compact.h"

namespace klab {
namespace {

const char* name_of(Part part) {
  return part == Part::table ? "table" : part == Part::density ? "density" : "color";
}

}  // namespace

StepNumbers marching_numbers(const Config& c, const Placement& place) {
  StepNumbers n;
  n.volume[0] = place.side();
  n.smallest_step = std::sqrt(3.0F) / float(c.steps_per_diagonal);
  const float march[4] = {place.near, n.smallest_step, n.smallest_step * n.volume[0],
                          place.cascades > 1 ? float(c.cone) : 0.0F};
  std::copy(march, march + 4, n.march);
  n.stop = float(-std::log(std::max(c.early_stop, 1e-30)));
  return n;
}

TrainStep::TrainStep(const Config& config, int cascades, const Data& data, const StepSizes& sizes,
                     const StepFormats& formats, StepPart part)
    : RayStep(t, data, sizes),
      c_(config),
      cascades_(cascades),
      plain_(has_plain_table(config)),
      formats_(formats),
      part_(std::move(part)) {
  declare({.rays = ray_capacity(c_),
           .marched = march_capacity(c_),
           .samples = sample_capacity(c_),
           .points = c_.total_variation > 0 ? kVariationPoints : 0});
  declare_state();
  declare_copies();
  declare_batch();
  list_occupancy();
  list_update();
  composite(color);
}

int64_t TrainStep::size_of(Part part) const {
  if (part == Part::density) return density_shape(c_, 0).weights();
  if (part == Part::color) return color_shape(c_, 0).weights();
  return table_room(c_, cascades_) * c_.features;
}

void TrainStep::declare_state() {
  for (const Part part : kParts) {
    const auto p = size_t(part);
    const int64_t n = size_of(part), group = group_of(part);
    const std::string name = name_of(part);
    t.parameters[p] = arena.tensor<float>(name, 1, n);
    t.gradient[p] = arena.tensor<float>("d_" + name, 1, n);
    t.m[p] = arena.tensor<float>(name + ".m", 1, n);
    t.v[p] = arena.tensor<float>(name + ".v", 1, n);
    t.steps[p] = arena.tensor<int32_t>(name + ".steps", 1, (n + group - 1) / group);
    t.average[p] = c_.ema > 0 ? arena.tensor<float>(name + ".average", 1, n) : nullptr;
  }
  t.scales = plain_ ? nullptr : arena.tensor<float>("table.scales", 1, c_.levels);
  t.sizes = plain_ ? nullptr : arena.tensor<int64_t>("table.sizes", 1, c_.levels);
  const int64_t cells = cascades_ * c_.grid * c_.grid * c_.grid;
  t.values = arena.tensor<float>("grid.values", 1, cells);
  t.bits = arena.tensor<uint8_t>("grid.bits", 1, cells / 8);
  t.occupied = arena.tensor<int32_t>("grid.occupied", 1, 1);
}

void TrainStep::declare_batch() {
  const int64_t encoded = c_.levels * c_.features, color_in = color_shape(c_, 0).in;
  for (const Look& look : looks_) {
    const std::string name = fmt::format("look {}", seen_.size());
    const bool shares = sizes_.recompute && !seen_.empty();  // a pass's features are not read after it
    seen_.push_back(
        {.features =
             shares ? seen_.front().features : arena.tensor<float>(name + " features", encoded, look.samples),
         .geometry = arena.tensor<float>(name + " geometry", c_.geometry_features, look.samples)});
  }
  const auto of_samples = [&](const char* name, int64_t rows) {
    return arena.tensor<float>(name, rows, t.samples);
  };
  features_ = sizes_.recompute ? seen_.front().features : of_samples("features", encoded);
  color_in_ = of_samples("color input", color_in);
  raw_ = arena.row(color_in_, color_in - c_.geometry_features);
  term_weight_ = arena.tensor<float>("term weight", 1, t.rays);
  weights_ = c_.distortion > 0 ? of_samples("weights", 1) : nullptr;
  d_weights_ = c_.distortion > 0 ? of_samples("d_weights", 1) : nullptr;
  d_color_in_ = of_samples("d_color input", color_in);
  d_features_ = of_samples("d_features", encoded);
  all_features_ = arena.product(encoded, t.samples);
  const int64_t points = 4 * room_.points;
  variation_features_ = arena.tensor<float>("variation features", encoded, points);
  variation_geometry_ = arena.tensor<float>("variation geometry", c_.geometry_features, points);
  d_variation_ = arena.tensor<float>("d_variation", c_.geometry_features, points);
  d_variation_features_ = arena.tensor<float>("d_variation features", encoded, points);
}

OpList TrainStep::picture() const {
  OpList list;
  copy_parameters(list);
  draw_and_march(list);
  find_visible(list);
  shade(list);
  composite(list);
  return list;
}

OpList TrainStep::seen() const {
  OpList list;
  copy_parameters(list);
  draw_and_march(list);
  find_visible(list);
  return list;
}

OpList TrainStep::shaded(bool fused) const {
  OpList list;
  shade_and_lose(list, fused);
  return list;
}

OpList TrainStep::loss(bool fused) const {
  OpList list = seen();
  shade_and_lose(list, fused);
  return list;
}

void TrainStep::shade_and_lose(OpList& list, bool fused) const {
  shade(list);
  lose(list, fused && fusable(c_));
  add_distortion(list);
  propagate(list);
  add_variation(list);
  check_gradients(list);
}

void TrainStep::draw_and_march(OpList& list) const {
  draw(list, {c_.background, c_.pixel_point});
  list.add<RayMarch>("ray_march",
                     {.rays = t.rays,
                      .grid = c_.grid,
                      .cascades = cascades_,
                      .max_samples = c_.max_samples_per_ray,
                      .capacity = march_capacity(c_)},
                     {.origins = origins_,
                      .directions = directions_,
                      .jitter = jitter_,
                      .steps = numbers(&StepNumbers::march),
                      .occupancy = t.bits,
                      .ray_begin = t.ray_begin,
                      .t = t_,
                      .delta = delta_});
}

// Evaluates the samples of rays from the front, until each ray is opaque; then compacts the results for the
// samples that count.
void TrainStep::find_visible(OpList& list) const {
  const int64_t encoded = c_.levels * c_.features;
  begin_looks(list);
  for (size_t k = 0; k < looks_.size(); ++k) {
    const Look& look = looks_[k];
    place(list, look);
    look_up(list, plain_ ? "hashgrid_fwd" : "hashtable_fwd", look.samples, look.positions, seen_[k].features);
    round_activation(list, seen_[k].features, encoded, look.samples);
    list.add<MlpFwd>(
        "mlp_fwd density", density_shape(c_, look.samples),
        {.x = seen_[k].features, .weights = used_[size_t(Part::density)], .y = seen_[k].geometry});
    round_activation(list, seen_[k].geometry, c_.geometry_features, look.samples);
    limit(list, look, seen_[k].geometry);
  }
  count_samples(list, c_.max_samples_per_ray);
  for (size_t k = 0; k < looks_.size(); ++k) {
    const Look& look = looks_[k];
    VisibleCompact::Shape shape = {.rays = t.rays,
                                   .rows = encoded,
                                   .looked = look.samples,
                                   .samples = t.samples,
                                   .first = look.first,
                                   .most = look.most};
    if (!sizes_.recompute)
      list.add<VisibleCompact>(
          "visible_compact", shape,
          {.begin = look.begin, .visible_begin = t.begin, .source = seen_[k].features, .target = features_});
    shape.rows = c_.geometry_features;
    list.add<VisibleCompact>(
        "visible_compact", shape,
        {.begin = look.begin, .visible_begin = t.begin, .source = seen_[k].geometry, .target = raw_});
  }
}

void TrainStep::shade(OpList& list) const {
  list.add<ShFwd>("sh_fwd", {.n = t.samples, .degree = c_.sh_degree},
                  {.directions = sample_directions_, .basis = color_in_});
  round_activation(list, color_in_, color_shape(c_, 0).in - c_.geometry_features, t.samples);
  list.add<MlpFwd>("mlp_fwd color", color_shape(c_, t.samples),
                   {.x = color_in_, .weights = used_[size_t(Part::color)], .y = rgb_});
  round_activation(list, rgb_, 3, t.samples);
}

// Computes the parameters' gradients from those of densities and colors.
void TrainStep::propagate(OpList& list) const {
  round_gradient(list, d_rgb_, 3, t.samples, true);
  round_gradient(list, d_raw_, 1, t.samples, true);
  list.add<MlpBwd>("mlp_bwd color", color_shape(c_, t.samples),
                   {.x = color_in_,
                    .weights = used_[size_t(Part::color)],
                    .d_y = d_rgb_,
                    .d_x = d_color_in_,
                    .d_weights = t.gradient[size_t(Part::color)]});
  // The first geometry output feeds both the density and the color network: its two gradients add up.
  float* d_geometry = arena.row(d_color_in_, color_shape(c_, 0).in - c_.geometry_features);
  list.add<Axpy>("axpy", {.n = t.samples}, {.a = number(&StepNumbers::one), .x = d_raw_, .y = d_geometry});
  round_gradient(list, d_geometry, c_.geometry_features, t.samples);
  if (sizes_.recompute) {
    look_up(list, plain_ ? "hashgrid_fwd" : "hashtable_fwd", t.samples, positions_, features_);
    round_activation(list, features_, c_.levels * c_.features, t.samples);
  }
  list.add<MlpBwd>("mlp_bwd density", density_shape(c_, t.samples),
                   {.x = features_,
                    .weights = used_[size_t(Part::density)],
                    .d_y = d_geometry,
                    .d_x = d_features_,
                    .d_weights = t.gradient[size_t(Part::density)]});
  round_gradient(list, d_features_, c_.levels * c_.features, t.samples);
  // The table's gradient is large and mostly zero; values that are not finite come from these gradients.
  list.add<AllFinite>("all_finite", {.n = all_features_},
                      {.p = d_features_, .first = numbers(&StepNumbers::not_finite) + 2});
  unscale(list, d_features_, all_features_, 2);
  scatter(list, plain_ ? "hashgrid_bwd" : "hashtable_bwd", t.samples, positions_, d_features_);
}

void TrainStep::look_up(OpList& list, const std::string& stage, int64_t n, const float* positions,
                        float* features) const {
  const float* table = used_[size_t(Part::table)];
  if (plain_) {
    list.add<HashgridFwd>(
        stage, hash_shape(c_, cascades_, n),
        {.positions = positions, .table = table, .table_half = table_half_, .features = features});
    return;
  }
  list.add<HashtableFwd>(
      stage, table_shape(c_, cascades_, n),
      {.positions = positions, .scales = t.scales, .sizes = t.sizes, .table = table, .features = features});
}

void TrainStep::scatter(OpList& list, const std::string& stage, int64_t n, const float* positions,
                        const float* d_features) const {
  float* d_table = t.gradient[size_t(Part::table)];
  if (plain_) {
    list.add<HashgridBwd>(stage, hash_shape(c_, cascades_, n),
                          {.positions = positions, .d_features = d_features, .d_table = d_table});
    return;
  }
  list.add<HashtableBwd>(stage, table_shape(c_, cascades_, n),
                         {.positions = positions,
                          .scales = t.scales,
                          .sizes = t.sizes,
                          .d_features = d_features,
                          .d_table = d_table});
}

}  // namespace klab
