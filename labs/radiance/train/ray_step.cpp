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
#include "reference/visible_limit/visible_limit.h"
#include "reference/weighted_sum/weighted_sum.h"

namespace klab {

void draw_rays(Ops& ops, const RayDraw& how, const ViewData& data, const ViewTensors& views,
               const Handle<int32_t>& numbers, const DrawnRays& rays) {
  ops.call<DrawRays>({.rays = rays.rays,
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

void weigh_terms(StepNumbers& n, const LossSettings& loss, int64_t points) {
  for (size_t i = 0; i < kLossTerms; ++i) {
    const auto& [term, weight] = loss_terms()[i];
    n.term[i] = float(loss.*weight / double(term->where == Term::on_own_points ? points : 1));
  }
}

RayStep::RayStep(Memory& memory, const Room& in, const LossSettings& loss, const ViewData& view_data,
                 const StepSizes& step_sizes)
    : views(declare_views(memory, view_data)), data(view_data), sizes(step_sizes), room(in) {
  numbers = memory.tensor<int32_t>("numbers", 1, int64_t(sizeof(StepNumbers) / sizeof(int32_t)));
  rays = memory.extent("rays", room.rays, room.usual_rays);
  padded = memory.backend().exact ? 0 : 1;
  const auto of_rays = [&](const char* name, int64_t rows) { return memory.tensor<float>(name, rows, rays); };
  const auto begins = [&](const std::string& name) { return memory.tensor<int32_t>(name, 1, room.rays + 1); };
  origins = of_rays("origins", 3);
  directions = of_rays("directions", 3);
  jitter = of_rays("jitter", 1);
  backdrop = of_rays("backdrop", 3);
  target = of_rays("target", 3);
  target_depth = of_rays("target depth", 1);
  ray_begin = begins("ray_begin");
  t = memory.tensor<float>("t", 1, room.marched);
  delta = memory.tensor<float>("delta", 1, room.marched);
  const auto count = [&](const std::string& name, const Handle<int32_t>& from, int64_t most) {
    return memory.count(name, from, rays, most, room.usual_samples);
  };
  marched = count("marched", ray_begin, room.marched);
  limits = memory.tensor<int32_t>("limit", 1, room.rays);
  optical_depth = of_rays("optical depth", 1);
  weight = of_rays("weight", 1);
  for (size_t k = 0; k < sizes.passes.size(); ++k) {
    const std::string name = "pass " + std::to_string(k);
    Pass pass;
    pass.begin = begins(name + " begin");
    pass.first = sizes.passes[k];
    pass.most = k + 1 < sizes.passes.size() ? sizes.passes[k + 1] - pass.first : INT_MAX;
    pass.samples = count(name, pass.begin, room.marched);
    pass.positions = memory.tensor<float>(name + " positions", 3, pass.samples);
    passes.push_back(pass);
  }
  begin = begins("begin");
  samples = count("samples", begin, room.samples);
  const auto of_samples = [&](const char* name, int64_t rows) {
    return memory.tensor<float>(name, rows, samples);
  };
  positions = of_samples("positions", 3);
  sample_directions = of_samples("sample directions", 3);
  sample_t = of_samples("sample t", 1);
  sample_delta = of_samples("sample delta", 1);
  rgb = of_samples("rgb", 3);
  d_raw = of_samples("d_raw", 1);
  d_rgb = of_samples("d_rgb", 3);
  color = of_rays("color", 3);
  opacity = of_rays("opacity", 1);
  depth = of_rays("depth", 1);
  value = of_rays("value", 1);
  d_color = of_rays("d_color", 3);
  d_opacity = of_rays("d_opacity", 1);
  d_depth = of_rays("d_depth", 1);
  for (size_t i = 0; i < kLossTerms; ++i)
    if (const auto& [term, own] = loss_terms()[i]; loss.*own > 0)
      terms_.push_back({term, several(&StepNumbers::term).from(int64_t(i)),
                        several(&StepNumbers::term_loss).from(int64_t(i))});
  const bool on_samples = has_terms(loss, Term::on_samples);
  if (on_samples || has_terms(loss, Term::on_rays)) term_weight_ = of_rays("weight and value of a term", 2);
  if (terms_.size() > 1) more_gradients_ = of_rays("gradients of one term", Term::kGradients.size());
  if (on_samples) sample_weights_ = of_samples("weights", 1);
  if (on_samples) d_sample_weights_ = of_samples("d_weights", 1);
  point_positions = memory.tensor<float>("points of terms", 3, 4 * room.points);
  point_values_ = memory.tensor<float>("terms of points", 1, room.points);
  point_weight_ = memory.tensor<float>("weights of points", 1, room.points);
  ones = memory.tensor<float>("ones", 1, room.points);
}

void RayStep::fill_ones(Memory& memory) const {
  if (room.points == 0) return;
  const std::vector<float> host(size_t(room.points), 1.0F);
  memory.write(ones, host.data(), host.size() * sizeof(float));
}

void RayStep::draw(Ops& ops, const RayDraw& how) const {
  draw_rays(ops, how, data, views, numbers,
            {.rays = rays,
             .origins = origins,
             .directions = directions,
             .jitter = jitter,
             .backdrop = backdrop,
             .color = target,
             .depth = target_depth});
}

void RayStep::begin_passes(Ops& ops) const {
  ops.fill("visible_limit", limits, 0x7F, room.rays * int64_t(sizeof(int32_t)));
  ops.fill("visible_limit", optical_depth, 0, room.rays * int64_t(sizeof(float)));
}

void RayStep::begin_at(Ops& ops, int64_t first, int64_t most, int64_t capacity, int64_t padding,
                       const Handle<int32_t>& to) const {
  ops.call<SampleBegin>(
      {.rays = rays, .first = first, .most = most, .capacity = capacity, .padded = padding},
      {.ray_begin = ray_begin, .limit = limits, .count = number(&StepNumbers::rays), .begin = to});
}

void RayStep::place_at(Ops& ops, const Handle<int32_t>& from, const Count& count, int64_t first,
                       const Handle<float>& to) const {
  ops.call<PlaceSamples>({.rays = rays, .samples = count, .marched = room.marched, .first = first},
                         {.begin = from,
                          .ray_begin = ray_begin,
                          .t = t,
                          .origins = origins,
                          .directions = directions,
                          .volume = several(&StepNumbers::volume),
                          .positions = to});
}

void RayStep::place(Ops& ops, const Pass& pass) const {
  begin_at(ops, pass.first, pass.most, room.marched, 0, pass.begin);
  place_at(ops, pass.begin, pass.samples, pass.first, pass.positions);
}

void RayStep::limit(Ops& ops, const Pass& pass, const Handle<float>& densities) const {
  ops.call<VisibleLimit>(
      {.rays = rays, .samples = pass.samples, .marched = room.marched, .first = pass.first},
      {.begin = pass.begin,
       .ray_begin = ray_begin,
       .raw = densities,
       .delta = delta,
       .stop = number(&StepNumbers::stop),
       .optical_depth = optical_depth,
       .limit = limits});
}

void RayStep::keep_visible(Ops& ops, int64_t most) const {
  begin_at(ops, 0, INT_MAX, room.samples, padded, begin);
  ops.call<RayWeights>({.rays = rays, .max_samples = most, .capacity = room.marched},
                       {.ray_begin = ray_begin,
                        .limit = limits,
                        .begin = begin,
                        .count = number(&StepNumbers::rays),
                        .weight = weight,
                        .whole = number(&StepNumbers::whole)});
  place_at(ops, begin, samples, 0, positions);
  ops.call<SpreadSamples>({.rays = rays, .samples = samples, .marched = room.marched},
                          {.begin = begin,
                           .ray_begin = ray_begin,
                           .t = t,
                           .delta = delta,
                           .directions = directions,
                           .sample_directions = sample_directions,
                           .sample_t = sample_t,
                           .sample_delta = sample_delta});
}

void RayStep::composite(Ops& ops) const {
  ops.call<CompositeFwd>({.rays = rays, .samples = samples}, {.ray_begin = begin,
                                                              .density_raw = raw,
                                                              .rgb = rgb,
                                                              .delta = sample_delta,
                                                              .t = sample_t,
                                                              .background = backdrop,
                                                              .color = color,
                                                              .opacity = opacity,
                                                              .depth = depth});
}

void RayStep::add_loss(Ops& ops) const {
  const auto stage = ops.within("loss");
  ops.call<WeightedSum>({.n = rays}, {.weight = weight, .value = value, .sum = number(&StepNumbers::loss)});
}

void RayStep::loss(Ops& ops, int64_t kind) const {
  pixel_loss(ops, kind);
  add_terms(ops, Term::on_samples, tensors_of_rays());
}

void RayStep::pixel_loss(Ops& ops, int64_t kind) const {
  const bool alone =
      std::ranges::none_of(terms_, [](const WeighedTerm& each) { return each.term->where == Term::on_rays; });
  if (ops.fused<CompositeLossBwd>(alone, {.rays = rays, .samples = samples, .kind = kind},
                                  {.ray_begin = begin,
                                   .density_raw = raw,
                                   .rgb = rgb,
                                   .delta = sample_delta,
                                   .background = backdrop,
                                   .target = target,
                                   .d_loss = weight,
                                   .loss = value,
                                   .d_density_raw = d_raw,
                                   .d_rgb = d_rgb}))
    return add_loss(ops);
  composite(ops);
  ops.call<PixelLossFwd>({.n = rays, .kind = kind}, {.prediction = color, .target = target, .loss = value});
  ops.call<PixelLossBwd>({.n = rays, .kind = kind},
                         {.prediction = color, .target = target, .d_loss = weight, .d_prediction = d_color});
  add_loss(ops);
  add_terms(ops, Term::on_rays, tensors_of_rays());
  ops.call<CompositeBwd>({.rays = rays, .samples = samples}, {.ray_begin = begin,
                                                              .density_raw = raw,
                                                              .rgb = rgb,
                                                              .delta = sample_delta,
                                                              .t = sample_t,
                                                              .background = backdrop,
                                                              .d_color = d_color,
                                                              .d_opacity = d_opacity,
                                                              .d_depth = d_depth,
                                                              .d_density_raw = d_raw,
                                                              .d_rgb = d_rgb});
}

// ---- Terms of the loss: each is a declaration in labs/radiance/loss. ----

TermTensors RayStep::tensors_of_rays() const {
  TermTensors lent;
  lent.values = lent.rays = rays;
  lent.samples = samples;
  lent.weight = term_weight_;
  lent.value = term_weight_.row(1);  // `value` stays the pixels' loss, which an error map learns
  lent.opacity = opacity;
  lent.depth = depth;
  lent.true_depth = target_depth;
  lent.d_opacity = d_opacity;
  lent.d_depth = d_depth;
  lent.begin = begin;
  lent.raw = raw;
  lent.t = sample_t;
  lent.delta = sample_delta;
  lent.sample_weights = sample_weights_;
  lent.d_sample_weights = d_sample_weights_;
  lent.d_raw = d_raw;
  return lent;
}

void RayStep::loss_at_points(Ops& ops, const std::function<void()>& forward,
                             const std::function<void()>& backward) const {
  TermTensors lent;
  lent.values = room.points;
  lent.weight = point_weight_;
  lent.value = point_values_;
  lent.seed = several(&StepNumbers::seed);
  lent.step = several(&StepNumbers::step);
  lent.cell = number(&StepNumbers::cell);
  lent.positions = point_positions;
  lent.point_raw = point_raw;
  lent.d_point_raw = d_point_raw;
  lent.forward = forward;
  lent.backward = backward;
  add_terms(ops, Term::on_own_points, lent);
}

// The first term writes a gradient of rays where it belongs. Those of further terms are written elsewhere and added to it.
void RayStep::add_terms(Ops& ops, Term::Where where, const TermTensors& lent) const {
  unsigned written = 0;
  for (const WeighedTerm& each : terms_) {
    const Term& term = *each.term;
    if (term.where != where) continue;
    const auto stage = ops.within(term.stage);
    TermTensors own = lent;
    own.one = number(&StepNumbers::one);
    own.loss = number(&StepNumbers::loss);
    own.own_loss = each.loss;
    ops.fill(term.stage, own.weight, 0, own.values.most() * int64_t(sizeof(float)));
    ops.call<Axpy>({.n = own.values},
                   {.a = each.weight, .x = where == Term::on_own_points ? ones : weight, .y = own.weight});
    const unsigned again = where == Term::on_rays ? term.needs & written : 0;
    if (again & Term::opacity) own.d_opacity = more_gradients_.row(0);
    if (again & Term::depth) own.d_depth = more_gradients_.row(1);
    term.add(ops, own);
    const auto add = [&](const Handle<float>& from, const Handle<float>& to) {
      ops.call<Axpy>({.n = rays}, {.a = own.one, .x = from, .y = to});
    };
    if (again & Term::opacity) add(own.d_opacity, d_opacity);
    if (again & Term::depth) add(own.d_depth, d_depth);
    written |= term.needs;
  }
}

// Clears a whole stretch: finding the lines that hold something takes longer than the saved writes.
void RayStep::adam(Ops& ops, StepNumbers::Adam StepNumbers::*hyper, const Stretch& own, int64_t group,
                   const Learned& learned, int64_t zero_percent) const {
  const int64_t stretch = sizes.stretch == 0 || group > sizes.stretch ? std::max<int64_t>(1, own.count())
                                                                      : sizes.stretch / group * group;
  for (int64_t at = own.begin; at < own.end; at += stretch) {
    const int64_t n = std::min(stretch, own.end - at);
    ops.call<Adam>({.n = n, .group = group, .zero_percent = zero_percent},
                   {.hyper = number(hyper).as<float>(),
                    .gradient = learned.gradient.from(at),
                    .param = learned.parameters.from(at),
                    .m = learned.m.from(at),
                    .v = learned.v.from(at),
                    .steps = learned.steps.from(at / group)});
    ops.fill("clear gradients", learned.gradient.from(at), 0, n * int64_t(sizeof(float)));
  }
}

}  // namespace klab
