#include "labs/radiance/train/step.h"

#include <algorithm>
#include <climits>
#include <cmath>

#include "reference/all_finite/all_finite.h"
#include "reference/axpy/axpy.h"
#include "reference/composite_fwd/composite_fwd.h"
#include "reference/draw_rays/draw_rays.h"
#include "reference/hashgrid_bwd/hashgrid_bwd.h"
#include "reference/mlp_bwd/mlp_bwd.h"
#include "reference/place_samples/place_samples.h"
#include "reference/ray_march/ray_march.h"
#include "reference/ray_weights/ray_weights.h"
#include "reference/sample_begin/sample_begin.h"
#include "reference/sh_fwd/sh_fwd.h"
#include "reference/spread_samples/spread_samples.h"
#include "reference/visible_compact/visible_compact.h"
#include "reference/visible_limit/visible_limit.h"

namespace klab {
namespace {

const char* name_of(Part part) {
  return part == Part::table ? "table" : part == Part::density ? "density" : "color";
}

}  // namespace

StepNumbers marching_numbers(const Config& c, const Placement& place) {
  StepNumbers n;
  n.side = place.side();
  n.smallest_step = std::sqrt(3.0F) / float(c.steps_per_diagonal);
  const float march[4] = {place.near, n.smallest_step, n.smallest_step * n.side,
                          place.cascades > 1 ? float(c.cone) : 0.0F};
  std::copy(march, march + 4, n.march);
  n.stop = float(-std::log(std::max(c.early_stop, 1e-30)));
  return n;
}

TrainStep::TrainStep(const Config& config, int cascades, const Data& data, const StepSizes& sizes)
    : c_(config), cascades_(cascades), data_(data), sizes_(sizes) {
  declare_state();
  declare_batch();
  list_occupancy();
  list_update();
  composite(color);
}

int64_t TrainStep::size_of(Part part) const {
  if (part == Part::density) return density_shape(c_, 0).weights();
  if (part == Part::color) return color_shape(c_, 0).weights();
  return hashgrid_entries(hashgrid_levels(hash_shape(c_, cascades_, 0))) * c_.features;
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
  const int64_t cells = cascades_ * c_.grid * c_.grid * c_.grid;
  t.values = arena.tensor<float>("grid.values", 1, cells);
  t.bits = arena.tensor<uint8_t>("grid.bits", 1, cells / 8);
  t.occupied = arena.tensor<int32_t>("grid.occupied", 1, 1);
  t.cameras = arena.tensor<float>("cameras", data_.views, 20);
  t.places = arena.tensor<int64_t>("places", data_.views, DrawRays::kPlace);
  t.image = arena.tensor<uint8_t>("image", data_.pixels, 4);
  t.seen = arena.tensor<int32_t>("pixels with a ray", 1, data_.listed);
  t.true_depth = arena.tensor<float>("true depth", 1, data_.depth ? data_.pixels : 0);
  t.numbers = arena.tensor<int32_t>("numbers", 1, int64_t(sizeof(StepNumbers) / sizeof(int32_t)));
}

void TrainStep::declare_batch() {
  const int64_t most_rays = ray_capacity(c_), room = march_capacity(c_), encoded = c_.levels * c_.features;
  t.rays = arena.extent("rays", most_rays);
  padded_ = arena.padding();
  const auto of_rays = [&](const char* name, int64_t rows) {
    return arena.tensor<float>(name, rows, t.rays);
  };
  const auto begins = [&](const std::string& name) { return arena.tensor<int32_t>(name, 1, most_rays + 1); };
  origins_ = of_rays("origins", 3);
  directions_ = of_rays("directions", 3);
  jitter_ = of_rays("jitter", 1);
  backdrop_ = of_rays("backdrop", 3);
  t.target = of_rays("target", 3);
  target_depth_ = of_rays("target depth", 1);
  t.ray_begin = begins("ray_begin");
  t_ = arena.tensor<float>("t", 1, room);
  delta_ = arena.tensor<float>("delta", 1, room);
  t.marched = arena.count("marched", t.ray_begin, t.rays, room);
  limit_ = arena.tensor<int32_t>("limit", 1, most_rays);
  optical_depth_ = of_rays("optical depth", 1);
  weight_ = of_rays("weight", 1);
  for (size_t k = 0; k < sizes_.looks.size(); ++k) {
    const std::string name = "look " + std::to_string(k);
    Look look;
    look.begin = begins(name + " begin");
    look.samples = arena.count(name, look.begin, t.rays, room);
    look.positions = arena.tensor<float>(name + " positions", 3, look.samples);
    look.features = arena.tensor<float>(name + " features", encoded, look.samples);
    look.geometry = arena.tensor<float>(name + " geometry", c_.geometry_features, look.samples);
    looks_.push_back(look);
  }
  t.begin = begins("begin");
  t.samples = arena.count("samples", t.begin, t.rays, sample_capacity(c_));
  const auto of_samples = [&](const char* name, int64_t rows) {
    return arena.tensor<float>(name, rows, t.samples);
  };
  const int64_t color_in = color_shape(c_, 0).in;
  positions_ = of_samples("positions", 3);
  sample_directions_ = of_samples("sample directions", 3);
  sample_t_ = of_samples("sample t", 1);
  sample_delta_ = of_samples("sample delta", 1);
  features_ = of_samples("features", encoded);
  color_in_ = of_samples("color input", color_in);
  rgb_ = of_samples("rgb", 3);
  t.color = of_rays("color", 3);
  t.opacity = of_rays("opacity", 1);
  t.depth = of_rays("depth", 1);
  value_ = of_rays("value", 1);
  term_weight_ = of_rays("term weight", 1);
  d_color_ = of_rays("d_color", 3);
  d_opacity_ = of_rays("d_opacity", 1);
  d_depth_ = of_rays("d_depth", 1);
  weights_ = c_.distortion > 0 ? of_samples("weights", 1) : nullptr;
  d_weights_ = c_.distortion > 0 ? of_samples("d_weights", 1) : nullptr;
  d_raw_ = of_samples("d_raw", 1);
  d_rgb_ = of_samples("d_rgb", 3);
  d_color_in_ = of_samples("d_color input", color_in);
  d_features_ = of_samples("d_features", encoded);
  all_features_ = arena.product(encoded, t.samples);
  const int64_t points = c_.total_variation > 0 ? kVariationPoints : 0;
  variation_positions_ = arena.tensor<float>("variation positions", 3, 4 * points);
  variation_features_ = arena.tensor<float>("variation features", encoded, 4 * points);
  variation_geometry_ = arena.tensor<float>("variation geometry", c_.geometry_features, 4 * points);
  variation_loss_ = arena.tensor<float>("variation loss", 1, points);
  variation_weight_ = arena.tensor<float>("variation weight", 1, points);
  d_variation_ = arena.tensor<float>("d_variation", c_.geometry_features, 4 * points);
  d_variation_features_ = arena.tensor<float>("d_variation features", encoded, 4 * points);
  ones_ = arena.tensor<float>("ones", 1, points);
}

OpList TrainStep::picture() const {
  OpList list;
  draw_and_march(list);
  find_visible(list);
  shade(list);
  composite(list);
  return list;
}

OpList TrainStep::loss(bool fused) const {
  OpList list;
  draw_and_march(list);
  find_visible(list);
  shade(list);
  lose(list, fused && fusable(c_));
  add_distortion(list);
  propagate(list);
  add_variation(list);
  for (const Part part : {Part::density, Part::color})
    list.add<AllFinite>(
        "all_finite", {.n = size_of(part)},
        {.p = t.gradient[size_t(part)], .first = numbers(&StepNumbers::not_finite) + (part == Part::color)});
  return list;
}

void TrainStep::draw_and_march(OpList& list) const {
  const int64_t background = c_.background == "black" ? 0 : c_.background == "white" ? 1 : 2;
  list.add<DrawRays>("draw_rays",
                     {.rays = t.rays,
                      .views = data_.views,
                      .pixels = data_.pixels,
                      .depths = data_.depth ? data_.pixels : 0,
                      .listed = data_.listed,
                      .background = background,
                      .drawn = data_.pixels > 0},
                     {.seed = numbers(&StepNumbers::seed),
                      .step = numbers(&StepNumbers::step),
                      .count = number(&StepNumbers::rays),
                      .cameras = t.cameras,
                      .places = t.places,
                      .seen = t.seen,
                      .image = t.image,
                      .true_depth = t.true_depth,
                      .origins = origins_,
                      .directions = directions_,
                      .jitter = jitter_,
                      .backdrop = backdrop_,
                      .color = t.target,
                      .depth = target_depth_});
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

// Looks at the samples of rays from the front, until each ray is opaque; then moves together what was computed for the
// samples that count.
void TrainStep::find_visible(OpList& list) const {
  const int64_t room = march_capacity(c_), encoded = c_.levels * c_.features;
  list.fill("visible_limit", limit_, 0x7F, ray_capacity(c_) * int64_t(sizeof(int32_t)));
  list.fill("visible_limit", optical_depth_, 0, ray_capacity(c_) * int64_t(sizeof(float)));
  const auto most = [&](size_t k) {
    return k + 1 < looks_.size() ? sizes_.looks[k + 1] - sizes_.looks[k] : int64_t{INT_MAX};
  };
  for (size_t k = 0; k < looks_.size(); ++k) {
    const Look& look = looks_[k];
    const int64_t first = sizes_.looks[k];
    list.add<SampleBegin>("sample_begin",
                          {.rays = t.rays, .first = first, .most = most(k), .capacity = room, .padded = 0},
                          {.ray_begin = t.ray_begin,
                           .limit = limit_,
                           .count = number(&StepNumbers::rays),
                           .begin = look.begin});
    list.add<PlaceSamples>("place_samples",
                           {.rays = t.rays, .samples = look.samples, .marched = room, .first = first},
                           {.begin = look.begin,
                            .ray_begin = t.ray_begin,
                            .t = t_,
                            .origins = origins_,
                            .directions = directions_,
                            .side = number(&StepNumbers::side),
                            .positions = look.positions});
    list.add<HashgridFwd>("hashgrid_fwd", hash_shape(c_, cascades_, look.samples),
                          {.positions = look.positions,
                           .table = t.parameters[size_t(Part::table)],
                           .table_half = nullptr,
                           .features = look.features});
    list.add<MlpFwd>(
        "mlp_fwd density", density_shape(c_, look.samples),
        {.x = look.features, .weights = t.parameters[size_t(Part::density)], .y = look.geometry});
    list.add<VisibleLimit>("visible_limit",
                           {.rays = t.rays, .samples = look.samples, .marched = room, .first = first},
                           {.begin = look.begin,
                            .ray_begin = t.ray_begin,
                            .raw = look.geometry,
                            .delta = delta_,
                            .stop = number(&StepNumbers::stop),
                            .optical_depth = optical_depth_,
                            .limit = limit_});
  }
  list.add<SampleBegin>(
      "sample_begin",
      {.rays = t.rays, .first = 0, .most = INT_MAX, .capacity = sample_capacity(c_), .padded = padded_},
      {.ray_begin = t.ray_begin, .limit = limit_, .count = number(&StepNumbers::rays), .begin = t.begin});
  list.add<RayWeights>("ray_weights",
                       {.rays = t.rays, .max_samples = c_.max_samples_per_ray, .capacity = room},
                       {.ray_begin = t.ray_begin,
                        .limit = limit_,
                        .begin = t.begin,
                        .count = number(&StepNumbers::rays),
                        .weight = weight_,
                        .whole = number(&StepNumbers::whole)});
  list.add<PlaceSamples>("place_samples", {.rays = t.rays, .samples = t.samples, .marched = room, .first = 0},
                         {.begin = t.begin,
                          .ray_begin = t.ray_begin,
                          .t = t_,
                          .origins = origins_,
                          .directions = directions_,
                          .side = number(&StepNumbers::side),
                          .positions = positions_});
  list.add<SpreadSamples>("spread_samples", {.rays = t.rays, .samples = t.samples, .marched = room},
                          {.begin = t.begin,
                           .ray_begin = t.ray_begin,
                           .t = t_,
                           .delta = delta_,
                           .directions = directions_,
                           .sample_directions = sample_directions_,
                           .sample_t = sample_t_,
                           .sample_delta = sample_delta_});
  float* geometry = arena.row(color_in_, color_shape(c_, 0).in - c_.geometry_features);
  for (size_t k = 0; k < looks_.size(); ++k) {
    const Look& look = looks_[k];
    VisibleCompact::Shape shape = {.rays = t.rays,
                                   .rows = encoded,
                                   .looked = look.samples,
                                   .samples = t.samples,
                                   .first = sizes_.looks[k],
                                   .most = most(k)};
    list.add<VisibleCompact>(
        "visible_compact", shape,
        {.begin = look.begin, .visible_begin = t.begin, .source = look.features, .target = features_});
    shape.rows = c_.geometry_features;
    list.add<VisibleCompact>(
        "visible_compact", shape,
        {.begin = look.begin, .visible_begin = t.begin, .source = look.geometry, .target = geometry});
  }
}

void TrainStep::shade(OpList& list) const {
  list.add<ShFwd>("sh_fwd", {.n = t.samples, .degree = c_.sh_degree},
                  {.directions = sample_directions_, .basis = color_in_});
  list.add<MlpFwd>("mlp_fwd color", color_shape(c_, t.samples),
                   {.x = color_in_, .weights = t.parameters[size_t(Part::color)], .y = rgb_});
}

void TrainStep::composite(OpList& list) const {
  list.add<CompositeFwd>("composite_fwd", {.rays = t.rays, .samples = t.samples},
                         {.ray_begin = t.begin,
                          .density_raw = arena.row(color_in_, color_shape(c_, 0).in - c_.geometry_features),
                          .rgb = rgb_,
                          .delta = sample_delta_,
                          .t = sample_t_,
                          .background = backdrop_,
                          .color = t.color,
                          .opacity = t.opacity,
                          .depth = t.depth});
}

// From the gradients of densities and colors to those of the parameters.
void TrainStep::propagate(OpList& list) const {
  list.add<MlpBwd>("mlp_bwd color", color_shape(c_, t.samples),
                   {.x = color_in_,
                    .weights = t.parameters[size_t(Part::color)],
                    .d_y = d_rgb_,
                    .d_x = d_color_in_,
                    .d_weights = t.gradient[size_t(Part::color)]});
  // The first geometry output feeds both the density and the color network: its two gradients add up.
  float* d_geometry = arena.row(d_color_in_, color_shape(c_, 0).in - c_.geometry_features);
  list.add<Axpy>("axpy", {.n = t.samples}, {.a = number(&StepNumbers::one), .x = d_raw_, .y = d_geometry});
  list.add<MlpBwd>("mlp_bwd density", density_shape(c_, t.samples),
                   {.x = features_,
                    .weights = t.parameters[size_t(Part::density)],
                    .d_y = d_geometry,
                    .d_x = d_features_,
                    .d_weights = t.gradient[size_t(Part::density)]});
  // The table's gradient is large and mostly zero; what is not finite in it comes from here.
  list.add<AllFinite>("all_finite", {.n = all_features_},
                      {.p = d_features_, .first = numbers(&StepNumbers::not_finite) + 2});
  list.add<HashgridBwd>(
      "hashgrid_bwd", hash_shape(c_, cascades_, t.samples),
      {.positions = positions_, .d_features = d_features_, .d_table = t.gradient[size_t(Part::table)]});
}

}  // namespace klab
