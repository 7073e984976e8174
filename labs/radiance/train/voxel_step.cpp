#include "labs/radiance/train/voxel_step.h"

#include <climits>

#include "reference/adam/adam.h"
#include "reference/all_finite/all_finite.h"
#include "reference/axpy/axpy.h"
#include "reference/composite_bwd/composite_bwd.h"
#include "reference/composite_loss_bwd/composite_loss_bwd.h"
#include "reference/draw_rays/draw_rays.h"
#include "reference/pixel_loss_bwd/pixel_loss_bwd.h"
#include "reference/place_samples/place_samples.h"
#include "reference/ray_weights/ray_weights.h"
#include "reference/sample_begin/sample_begin.h"
#include "reference/spread_samples/spread_samples.h"
#include "reference/total_variation_bwd/total_variation_bwd.h"
#include "reference/variation_points/variation_points.h"
#include "reference/visible_limit/visible_limit.h"
#include "reference/voxel_march/voxel_march.h"
#include "reference/voxel_sh_bwd/voxel_sh_bwd.h"
#include "reference/weighted_sum/weighted_sum.h"

namespace klab {

VoxelStep::VoxelStep(const VoxelConfig& config, int64_t grid, int64_t rows, const ViewData& data,
                     const StepSizes& sizes)
    : c_(config), grid_(grid), rows_(rows), data_(data), sizes_(sizes) {
  declare();
  declare_samples();
  list_update();
  composite(color);
}

void VoxelStep::declare() {
  const char* const names[] = {"density", "coefficients"};
  for (size_t k = 0; k < 2; ++k) {
    const std::string name = names[k];
    const int64_t n = size_of(int(k));
    t.parameters[k] = arena.tensor<float>(name, 1, n);
    t.gradient[k] = arena.tensor<float>("d_" + name, 1, n);
    t.m[k] = arena.tensor<float>(name + ".m", 1, n);
    t.v[k] = arena.tensor<float>(name + ".v", 1, n);
    t.steps[k] = arena.tensor<int32_t>(name + ".steps", 1, rows_);
  }
  t.links = arena.tensor<int32_t>("links", 1, (grid_ + 1) * (grid_ + 1) * (grid_ + 1));
  t.bits = arena.tensor<uint8_t>("cells", 1, grid_ * grid_ * grid_ / 8);
  t.views.cameras = arena.tensor<float>("cameras", data_.views, 20);
  t.views.places = arena.tensor<int64_t>("places", data_.views, DrawRays::kPlace);
  t.views.image = arena.tensor<uint8_t>("image", data_.pixels, 4);
  t.views.seen = arena.tensor<int32_t>("pixels with a ray", 1, data_.listed);
  t.views.true_depth = arena.tensor<float>("true depth", 1, data_.depth ? data_.pixels : 0);
  t.numbers = arena.tensor<int32_t>("numbers", 1, int64_t(sizeof(StepNumbers) / sizeof(int32_t)));
  const int64_t most_rays = ray_capacity(c_), room = march_capacity(c_, grid_);
  t.rays = arena.extent("rays", most_rays);
  padded_ = arena.padding();
  const auto of_rays = [&](const char* name, int64_t rows) {
    return arena.tensor<float>(name, rows, t.rays);
  };
  origins_ = of_rays("origins", 3);
  directions_ = of_rays("directions", 3);
  jitter_ = of_rays("jitter", 1);
  backdrop_ = of_rays("backdrop", 3);
  t.target = of_rays("target", 3);
  target_depth_ = of_rays("target depth", 1);
  optical_depth_ = of_rays("optical depth", 1);
  weight_ = of_rays("weight", 1);
  t.color = of_rays("color", 3);
  t.opacity = of_rays("opacity", 1);
  t.depth = of_rays("depth", 1);
  value_ = of_rays("value", 1);
  d_color_ = of_rays("d_color", 3);
  d_opacity_ = of_rays("d_opacity", 1);
  d_depth_ = of_rays("d_depth", 1);
  t.ray_begin = arena.tensor<int32_t>("ray_begin", 1, most_rays + 1);
  limit_ = arena.tensor<int32_t>("limit", 1, most_rays);
  t_ = arena.tensor<float>("t", 1, room);
  delta_ = arena.tensor<float>("delta", 1, room);
}

void VoxelStep::declare_samples() {
  const int64_t most_rays = ray_capacity(c_), room = march_capacity(c_, grid_);
  for (size_t k = 0; k < sizes_.looks.size(); ++k) {
    const std::string name = "look " + std::to_string(k);
    Look look;
    look.begin = arena.tensor<int32_t>(name + " begin", 1, most_rays + 1);
    look.samples = arena.count(name, look.begin, t.rays, room);
    look.positions = arena.tensor<float>(name + " positions", 3, look.samples);
    look.raw = arena.tensor<float>(name + " raw", 1, look.samples);
    looks_.push_back(look);
  }
  t.begin = arena.tensor<int32_t>("begin", 1, most_rays + 1);
  samples_ = arena.count("samples", t.begin, t.rays, sample_capacity(c_));
  const auto of_samples = [&](const char* name, int64_t rows) {
    return arena.tensor<float>(name, rows, samples_);
  };
  positions_ = of_samples("positions", 3);
  sample_directions_ = of_samples("sample directions", 3);
  sample_t_ = of_samples("sample t", 1);
  sample_delta_ = of_samples("sample delta", 1);
  raw_ = of_samples("raw", 1);
  rgb_ = of_samples("rgb", 3);
  d_raw_ = of_samples("d_raw", 1);
  d_rgb_ = of_samples("d_rgb", 3);
  colors_ = arena.product(3, samples_);
  const int64_t points = c_.total_variation > 0 ? kVariationPoints : 0;
  variation_positions_ = arena.tensor<float>("variation positions", 3, 4 * points);
  variation_raw_ = arena.tensor<float>("variation raw", 1, 4 * points);
  variation_loss_ = arena.tensor<float>("variation loss", 1, points);
  variation_weight_ = arena.tensor<float>("variation weight", 1, points);
  d_variation_ = arena.tensor<float>("d_variation", 1, 4 * points);
  t.ones = arena.tensor<float>("ones", 1, points);
}

// A row's numbers have one step count. What is zero in a gradient costs its reading; a stretch is cleared while it is in a
// cache.
void VoxelStep::list_update() {
  for (size_t k = 0; k < 2; ++k) {
    const int64_t all = size_of(int(k)), group = all / rows_;
    const int64_t stretch = sizes_.stretch == 0 ? all : sizes_.stretch / group * group;
    const auto* hyper =
        reinterpret_cast<const float*>(number(k == density ? &StepNumbers::table : &StepNumbers::networks));
    for (int64_t begin = 0; begin < all; begin += stretch) {
      const int64_t n = std::min(stretch, all - begin);
      update.add<Adam>("adam", {.n = n, .group = group, .zero_percent = 0},
                       {.hyper = hyper,
                        .gradient = t.gradient[k] + begin,
                        .param = t.parameters[k] + begin,
                        .m = t.m[k] + begin,
                        .v = t.v[k] + begin,
                        .steps = t.steps[k] + begin / group});
      update.fill("clear gradients", t.gradient[k] + begin, 0, n * int64_t(sizeof(float)));
    }
  }
}

void VoxelStep::draw_and_march(OpList& list) const {
  list.add<DrawRays>("draw_rays",
                     {.rays = t.rays,
                      .views = data_.views,
                      .pixels = data_.pixels,
                      .depths = data_.depth ? data_.pixels : 0,
                      .listed = data_.listed,
                      .background = c_.background == "black"   ? 0
                                    : c_.background == "white" ? 1
                                                               : 2,
                      .drawn = data_.pixels > 0},
                     {.seed = numbers(&StepNumbers::seed),
                      .step = numbers(&StepNumbers::step),
                      .count = number(&StepNumbers::rays),
                      .cameras = t.views.cameras,
                      .places = t.views.places,
                      .seen = t.views.seen,
                      .image = t.views.image,
                      .true_depth = t.views.true_depth,
                      .origins = origins_,
                      .directions = directions_,
                      .jitter = jitter_,
                      .backdrop = backdrop_,
                      .color = t.target,
                      .depth = target_depth_});
  list.add<VoxelMarch>("voxel_march", {.rays = t.rays, .grid = grid_, .capacity = march_capacity(c_, grid_)},
                       {.origins = origins_,
                        .directions = directions_,
                        .box = numbers(&StepNumbers::box),
                        .occupancy = t.bits,
                        .ray_begin = t.ray_begin,
                        .t = t_,
                        .delta = delta_});
}

/// Densities, and colors along sample_directions_ where there is a basis.
void VoxelStep::look_at(OpList& list, const std::string& stage, int64_t basis, int64_t samples,
                        const float* positions, float* raw) const {
  list.add<VoxelShFwd>(stage, {.n = samples, .grid = grid_, .rows = rows_, .basis = basis},
                       {.positions = positions,
                        .directions = sample_directions_,
                        .links = t.links,
                        .empty = number(&StepNumbers::empty),
                        .density = t.parameters[density],
                        .coefficients = t.parameters[coefficients],
                        .raw = raw,
                        .rgb = rgb_});
}

// Looks at the densities of rays from the front, until each ray is opaque.
void VoxelStep::find_visible(OpList& list) const {
  const int64_t room = march_capacity(c_, grid_);
  list.fill("visible_limit", limit_, 0x7F, ray_capacity(c_) * int64_t(sizeof(int32_t)));
  list.fill("visible_limit", optical_depth_, 0, ray_capacity(c_) * int64_t(sizeof(float)));
  const auto place = [&](const int32_t* begin, int64_t samples, int64_t first, float* positions) {
    list.add<PlaceSamples>("place_samples",
                           {.rays = t.rays, .samples = samples, .marched = room, .first = first},
                           {.begin = begin,
                            .ray_begin = t.ray_begin,
                            .t = t_,
                            .origins = origins_,
                            .directions = directions_,
                            .side = number(&StepNumbers::side),
                            .positions = positions});
  };
  const auto begin_at = [&](int64_t first, int64_t most, int64_t capacity, int64_t padded, int32_t* begin) {
    list.add<SampleBegin>(
        "sample_begin",
        {.rays = t.rays, .first = first, .most = most, .capacity = capacity, .padded = padded},
        {.ray_begin = t.ray_begin, .limit = limit_, .count = number(&StepNumbers::rays), .begin = begin});
  };
  for (size_t k = 0; k < looks_.size(); ++k) {
    const Look& look = looks_[k];
    const int64_t first = sizes_.looks[k];
    begin_at(first, k + 1 < looks_.size() ? sizes_.looks[k + 1] - first : INT_MAX, room, 0, look.begin);
    place(look.begin, look.samples, first, look.positions);
    look_at(list, "voxel_sh_fwd densities", 0, look.samples, look.positions, look.raw);
    list.add<VisibleLimit>("visible_limit",
                           {.rays = t.rays, .samples = look.samples, .marched = room, .first = first},
                           {.begin = look.begin,
                            .ray_begin = t.ray_begin,
                            .raw = look.raw,
                            .delta = delta_,
                            .stop = number(&StepNumbers::stop),
                            .optical_depth = optical_depth_,
                            .limit = limit_});
  }
  begin_at(0, INT_MAX, sample_capacity(c_), padded_, t.begin);
  list.add<RayWeights>("ray_weights", {.rays = t.rays, .max_samples = 3 * grid_, .capacity = room},
                       {.ray_begin = t.ray_begin,
                        .limit = limit_,
                        .begin = t.begin,
                        .count = number(&StepNumbers::rays),
                        .weight = weight_,
                        .whole = number(&StepNumbers::whole)});
  place(t.begin, samples_, 0, positions_);
  list.add<SpreadSamples>("spread_samples", {.rays = t.rays, .samples = samples_, .marched = room},
                          {.begin = t.begin,
                           .ray_begin = t.ray_begin,
                           .t = t_,
                           .delta = delta_,
                           .directions = directions_,
                           .sample_directions = sample_directions_,
                           .sample_t = sample_t_,
                           .sample_delta = sample_delta_});
}

void VoxelStep::shade(OpList& list) const {
  look_at(list, "voxel_sh_fwd colors", c_.basis(), samples_, positions_, raw_);
}

void VoxelStep::composite(OpList& list) const {
  list.add<CompositeFwd>("composite_fwd", {.rays = t.rays, .samples = samples_},
                         {.ray_begin = t.begin,
                          .density_raw = raw_,
                          .rgb = rgb_,
                          .delta = sample_delta_,
                          .t = sample_t_,
                          .background = backdrop_,
                          .color = t.color,
                          .opacity = t.opacity,
                          .depth = t.depth});
}

OpList VoxelStep::picture() const {
  OpList list;
  draw_and_march(list);
  find_visible(list);
  shade(list);
  composite(list);
  return list;
}

OpList VoxelStep::loss(bool fused) const {
  OpList list;
  draw_and_march(list);
  find_visible(list);
  shade(list);
  lose(list, fused);
  propagate(list);
  add_variation(list);
  return list;
}

void VoxelStep::lose(OpList& list, bool fused) const {
  const int64_t kind = c_.loss == "mse" ? 0 : c_.loss == "huber" ? 1 : 2;
  if (fused) {
    list.add<CompositeLossBwd>("composite_loss_bwd", {.rays = t.rays, .samples = samples_, .kind = kind},
                               {.ray_begin = t.begin,
                                .density_raw = raw_,
                                .rgb = rgb_,
                                .delta = sample_delta_,
                                .background = backdrop_,
                                .target = t.target,
                                .d_loss = weight_,
                                .loss = value_,
                                .d_density_raw = d_raw_,
                                .d_rgb = d_rgb_});
  } else {
    composite(list);
    list.add<PixelLossFwd>("pixel_loss_fwd", {.n = t.rays, .kind = kind},
                           {.prediction = t.color, .target = t.target, .loss = value_});
    list.add<PixelLossBwd>(
        "pixel_loss_bwd", {.n = t.rays, .kind = kind},
        {.prediction = t.color, .target = t.target, .d_loss = weight_, .d_prediction = d_color_});
    list.add<CompositeBwd>("composite_bwd", {.rays = t.rays, .samples = samples_},
                           {.ray_begin = t.begin,
                            .density_raw = raw_,
                            .rgb = rgb_,
                            .delta = sample_delta_,
                            .t = sample_t_,
                            .background = backdrop_,
                            .d_color = d_color_,
                            .d_opacity = d_opacity_,
                            .d_depth = d_depth_,
                            .d_density_raw = d_raw_,
                            .d_rgb = d_rgb_});
  }
  list.add<WeightedSum>("loss", {.n = t.rays},
                        {.weight = weight_, .value = value_, .sum = number(&StepNumbers::loss)});
}

// The tables' gradients are large and mostly zero; what is not finite in them comes from those of the samples.
void VoxelStep::propagate(OpList& list) const {
  list.add<AllFinite>("all_finite", {.n = samples_},
                      {.p = d_raw_, .first = numbers(&StepNumbers::not_finite)});
  list.add<AllFinite>("all_finite", {.n = colors_},
                      {.p = d_rgb_, .first = numbers(&StepNumbers::not_finite) + 1});
  list.add<VoxelShBwd>("voxel_sh_bwd", {.n = samples_, .grid = grid_, .rows = rows_, .basis = c_.basis()},
                       {.positions = positions_,
                        .directions = sample_directions_,
                        .links = t.links,
                        .empty = number(&StepNumbers::empty),
                        .density = t.parameters[density],
                        .coefficients = t.parameters[coefficients],
                        .rgb = rgb_,
                        .d_raw = d_raw_,
                        .d_rgb = d_rgb_,
                        .d_density = t.gradient[density],
                        .d_coefficients = t.gradient[coefficients]});
}

void VoxelStep::add_variation(OpList& list) const {
  if (!(c_.total_variation > 0)) return;
  const std::string stage = "total variation";
  constexpr int64_t points = kVariationPoints, n = 4 * points;
  list.add<VariationPoints>(stage, {.points = points},
                            {.seed = numbers(&StepNumbers::seed),
                             .step = numbers(&StepNumbers::step),
                             .h = number(&StepNumbers::cell),
                             .positions = variation_positions_});
  look_at(list, stage, 0, n, variation_positions_, variation_raw_);
  list.fill(stage, variation_weight_, 0, points * int64_t(sizeof(float)));
  list.add<Axpy>(stage, {.n = points},
                 {.a = number(&StepNumbers::variation), .x = t.ones, .y = variation_weight_});
  list.add<TotalVariationFwd>(stage, {.points = points}, {.raw = variation_raw_, .loss = variation_loss_});
  list.add<TotalVariationBwd>(stage, {.points = points},
                              {.raw = variation_raw_, .d_loss = variation_weight_, .d_raw = d_variation_});
  list.add<WeightedSum>(
      stage, {.n = points},
      {.weight = variation_weight_, .value = variation_loss_, .sum = number(&StepNumbers::loss)});
  list.add<VoxelShBwd>(stage, {.n = n, .grid = grid_, .rows = rows_, .basis = 0},
                       {.positions = variation_positions_,
                        .directions = sample_directions_,
                        .links = t.links,
                        .empty = number(&StepNumbers::empty),
                        .density = t.parameters[density],
                        .coefficients = t.parameters[coefficients],
                        .rgb = rgb_,
                        .d_raw = d_variation_,
                        .d_rgb = d_rgb_,
                        .d_density = t.gradient[density],
                        .d_coefficients = t.gradient[coefficients]});
}

}  // namespace klab
