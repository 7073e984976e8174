#include "labs/radiance/train/ray_step.h"

#include <climits>

#include "labs/radiance/field/config.h"
#include "reference/adam/adam.h"
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
#include "reference/weighted_sum/weighted_sum.h"

namespace klab {

void draw_rays(OpList& list, const RayDraw& how, const ViewData& data, const ViewTensors& views,
               int32_t* numbers, const DrawnRays& rays) {
  list.add<DrawRays>("draw_rays",
                     {.rays = rays.rays,
                      .views = data.views,
                      .pixels = data.pixels,
                      .depths = data.depth ? data.pixels : 0,
                      .listed = data.listed,
                      .background = background_kind(how.background),
                      .drawn = data.pixels == 0          ? 0
                               : how.point == "anywhere" ? 2
                                                         : 1},
                     {.seed = numbers_in(numbers, &StepNumbers::seed),
                      .step = numbers_in(numbers, &StepNumbers::step),
                      .count = number_in(numbers, &StepNumbers::rays),
                      .cameras = views.cameras,
                      .places = views.places,
                      .seen = views.seen,
                      .image = views.image,
                      .true_depth = views.true_depth,
                      .origins = rays.origins,
                      .directions = rays.directions,
                      .jitter = rays.jitter,
                      .backdrop = rays.backdrop,
                      .color = rays.color,
                      .depth = rays.depth});
}

void RayStep::declare(const Room& room) {
  room_ = room;
  RayTensors& t = rays_;
  t.views = declare_views(arena, data_);
  t.numbers = arena.tensor<int32_t>("numbers", 1, int64_t(sizeof(StepNumbers) / sizeof(int32_t)));
  t.rays = arena.extent("rays", room.rays);
  padded_ = arena.padding();
  const auto of_rays = [&](const char* name, int64_t rows) {
    return arena.tensor<float>(name, rows, t.rays);
  };
  const auto begins = [&](const std::string& name) { return arena.tensor<int32_t>(name, 1, room.rays + 1); };
  origins_ = of_rays("origins", 3);
  directions_ = of_rays("directions", 3);
  jitter_ = of_rays("jitter", 1);
  backdrop_ = of_rays("backdrop", 3);
  t.target = of_rays("target", 3);
  target_depth_ = of_rays("target depth", 1);
  t.ray_begin = begins("ray_begin");
  t_ = arena.tensor<float>("t", 1, room.marched);
  delta_ = arena.tensor<float>("delta", 1, room.marched);
  t.marched = arena.count("marched", t.ray_begin, t.rays, room.marched);
  limit_ = arena.tensor<int32_t>("limit", 1, room.rays);
  optical_depth_ = of_rays("optical depth", 1);
  weight_ = t.weight = of_rays("weight", 1);
  for (size_t k = 0; k < sizes_.looks.size(); ++k) {
    const std::string name = "look " + std::to_string(k);
    Look look{.positions = nullptr,
              .begin = begins(name + " begin"),
              .samples = 0,
              .first = sizes_.looks[k],
              .most = INT_MAX};
    if (k + 1 < sizes_.looks.size()) look.most = sizes_.looks[k + 1] - look.first;
    look.samples = arena.count(name, look.begin, t.rays, room.marched);
    look.positions = arena.tensor<float>(name + " positions", 3, look.samples);
    looks_.push_back(look);
  }
  t.begin = begins("begin");
  t.samples = arena.count("samples", t.begin, t.rays, room.samples);
  const auto of_samples = [&](const char* name, int64_t rows) {
    return arena.tensor<float>(name, rows, t.samples);
  };
  positions_ = t.positions = of_samples("positions", 3);
  sample_directions_ = of_samples("sample directions", 3);
  sample_t_ = of_samples("sample t", 1);
  sample_delta_ = of_samples("sample delta", 1);
  rgb_ = of_samples("rgb", 3);
  d_raw_ = of_samples("d_raw", 1);
  d_rgb_ = of_samples("d_rgb", 3);
  t.color = of_rays("color", 3);
  t.opacity = of_rays("opacity", 1);
  t.depth = of_rays("depth", 1);
  value_ = t.value = of_rays("value", 1);
  d_color_ = of_rays("d_color", 3);
  d_opacity_ = of_rays("d_opacity", 1);
  d_depth_ = of_rays("d_depth", 1);
  variation_positions_ = arena.tensor<float>("variation positions", 3, 4 * room.points);
  variation_loss_ = arena.tensor<float>("variation loss", 1, room.points);
  variation_weight_ = arena.tensor<float>("variation weight", 1, room.points);
  t.ones = arena.tensor<float>("ones", 1, room.points);
}

void RayStep::draw(OpList& list, const RayDraw& how) const {
  draw_rays(list, how, data_, rays_.views, rays_.numbers,
            {.rays = rays_.rays,
             .origins = origins_,
             .directions = directions_,
             .jitter = jitter_,
             .backdrop = backdrop_,
             .color = rays_.target,
             .depth = target_depth_});
}

void RayStep::begin_looks(OpList& list) const {
  list.fill("visible_limit", limit_, 0x7F, room_.rays * int64_t(sizeof(int32_t)));
  list.fill("visible_limit", optical_depth_, 0, room_.rays * int64_t(sizeof(float)));
}

void RayStep::begin_at(OpList& list, int64_t first, int64_t most, int64_t capacity, int64_t padded,
                       int32_t* begin) const {
  list.add<SampleBegin>(
      "sample_begin",
      {.rays = rays_.rays, .first = first, .most = most, .capacity = capacity, .padded = padded},
      {.ray_begin = rays_.ray_begin, .limit = limit_, .count = number(&StepNumbers::rays), .begin = begin});
}

void RayStep::place(OpList& list, const int32_t* begin, int64_t samples, int64_t first,
                    float* positions) const {
  list.add<PlaceSamples>("place_samples",
                         {.rays = rays_.rays, .samples = samples, .marched = room_.marched, .first = first},
                         {.begin = begin,
                          .ray_begin = rays_.ray_begin,
                          .t = t_,
                          .origins = origins_,
                          .directions = directions_,
                          .volume = numbers(&StepNumbers::volume),
                          .positions = positions});
}

void RayStep::place(OpList& list, const Look& look) const {
  begin_at(list, look.first, look.most, room_.marched, 0, look.begin);
  place(list, look.begin, look.samples, look.first, look.positions);
}

void RayStep::limit(OpList& list, const Look& look, const float* raw) const {
  list.add<VisibleLimit>(
      "visible_limit",
      {.rays = rays_.rays, .samples = look.samples, .marched = room_.marched, .first = look.first},
      {.begin = look.begin,
       .ray_begin = rays_.ray_begin,
       .raw = raw,
       .delta = delta_,
       .stop = number(&StepNumbers::stop),
       .optical_depth = optical_depth_,
       .limit = limit_});
}

void RayStep::count_samples(OpList& list, int64_t most) const {
  const RayTensors& t = rays_;
  begin_at(list, 0, INT_MAX, room_.samples, padded_, t.begin);
  list.add<RayWeights>("ray_weights", {.rays = t.rays, .max_samples = most, .capacity = room_.marched},
                       {.ray_begin = t.ray_begin,
                        .limit = limit_,
                        .begin = t.begin,
                        .count = number(&StepNumbers::rays),
                        .weight = weight_,
                        .whole = number(&StepNumbers::whole)});
  place(list, t.begin, t.samples, 0, positions_);
  list.add<SpreadSamples>("spread_samples", {.rays = t.rays, .samples = t.samples, .marched = room_.marched},
                          {.begin = t.begin,
                           .ray_begin = t.ray_begin,
                           .t = t_,
                           .delta = delta_,
                           .directions = directions_,
                           .sample_directions = sample_directions_,
                           .sample_t = sample_t_,
                           .sample_delta = sample_delta_});
}

void RayStep::composite(OpList& list) const {
  list.add<CompositeFwd>("composite_fwd", {.rays = rays_.rays, .samples = rays_.samples},
                         {.ray_begin = rays_.begin,
                          .density_raw = raw_,
                          .rgb = rgb_,
                          .delta = sample_delta_,
                          .t = sample_t_,
                          .background = backdrop_,
                          .color = rays_.color,
                          .opacity = rays_.opacity,
                          .depth = rays_.depth});
}

void RayStep::add_up(OpList& list, const float* weight) const {
  list.add<WeightedSum>("loss", {.n = rays_.rays},
                        {.weight = weight, .value = value_, .sum = number(&StepNumbers::loss)});
}

void RayStep::lose_fused(OpList& list, int64_t kind) const {
  list.add<CompositeLossBwd>("composite_loss_bwd",
                             {.rays = rays_.rays, .samples = rays_.samples, .kind = kind},
                             {.ray_begin = rays_.begin,
                              .density_raw = raw_,
                              .rgb = rgb_,
                              .delta = sample_delta_,
                              .background = backdrop_,
                              .target = rays_.target,
                              .d_loss = weight_,
                              .loss = value_,
                              .d_density_raw = d_raw_,
                              .d_rgb = d_rgb_});
  add_up(list, weight_);
}

void RayStep::lose_pixels(OpList& list, int64_t kind) const {
  const RayTensors& t = rays_;
  composite(list);
  list.add<PixelLossFwd>("pixel_loss_fwd", {.n = t.rays, .kind = kind},
                         {.prediction = t.color, .target = t.target, .loss = value_});
  list.add<PixelLossBwd>(
      "pixel_loss_bwd", {.n = t.rays, .kind = kind},
      {.prediction = t.color, .target = t.target, .d_loss = weight_, .d_prediction = d_color_});
  add_up(list, weight_);
}

void RayStep::composite_back(OpList& list) const {
  list.add<CompositeBwd>("composite_bwd", {.rays = rays_.rays, .samples = rays_.samples},
                         {.ray_begin = rays_.begin,
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

void RayStep::draw_variation(OpList& list) const {
  list.add<VariationPoints>("total variation", {.points = room_.points},
                            {.seed = numbers(&StepNumbers::seed),
                             .step = numbers(&StepNumbers::step),
                             .h = number(&StepNumbers::cell),
                             .positions = variation_positions_});
}

void RayStep::lose_variation(OpList& list, const float* raw, float* d_raw) const {
  const std::string stage = "total variation";
  const int64_t points = room_.points;
  list.fill(stage, variation_weight_, 0, points * int64_t(sizeof(float)));
  list.add<Axpy>(stage, {.n = points},
                 {.a = number(&StepNumbers::variation), .x = rays_.ones, .y = variation_weight_});
  list.add<TotalVariationFwd>(stage, {.points = points}, {.raw = raw, .loss = variation_loss_});
  list.add<TotalVariationBwd>(stage, {.points = points},
                              {.raw = raw, .d_loss = variation_weight_, .d_raw = d_raw});
  list.add<WeightedSum>(
      stage, {.n = points},
      {.weight = variation_weight_, .value = variation_loss_, .sum = number(&StepNumbers::loss)});
}

// Clears a whole stretch: finding the lines that hold something takes longer than the saved writes.
void RayStep::move(OpList& list, StepNumbers::Adam StepNumbers::*hyper, const Stretch& own, int64_t group,
                   const Learned& learned) const {
  const int64_t stretch = sizes_.stretch == 0 || group > sizes_.stretch ? std::max<int64_t>(1, own.count())
                                                                        : sizes_.stretch / group * group;
  for (int64_t begin = own.begin; begin < own.end; begin += stretch) {
    const int64_t n = std::min(stretch, own.end - begin);
    float* gradient = learned.gradient + begin;
    list.add<Adam>("adam", {.n = n, .group = group, .zero_percent = 0},
                   {.hyper = reinterpret_cast<const float*>(number(hyper)),
                    .gradient = gradient,
                    .param = learned.parameters + begin,
                    .m = learned.m + begin,
                    .v = learned.v + begin,
                    .steps = learned.steps + begin / group});
    list.fill("clear gradients", gradient, 0, n * int64_t(sizeof(float)));
  }
}

}  // namespace klab
