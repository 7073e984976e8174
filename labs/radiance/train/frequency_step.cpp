#include "labs/radiance/train/frequency_step.h"

#include <algorithm>
#include <utility>

#include "harness/program/measure_ops.h"
#include "labs/radiance/field/config.h"
#include "labs/radiance/field/optimizer.h"
#include "labs/radiance/train/ray_step.h"
#include "reference/composite_bwd/composite_bwd.h"
#include "reference/composite_fwd/composite_fwd.h"
#include "reference/composite_loss_bwd/composite_loss_bwd.h"

namespace klab {

FrequencyStep::FrequencyStep(Memory& memory, const FrequencyConfig& config, const Placement& placement)
    : config_(config), passes_(config, placement) {
  if (!has_terms(config.terms, Term::on_rays)) return;
  for (Handle<float>* const tensor : {&opacity_, &d_opacity_, &weight_, &value_})
    *tensor = memory.tensor<float>("of a term", 1, config.rays);
  for (Handle<float>* const number : {&one_, &loss_, &own_loss_})
    *number = memory.tensor<float>("number of a term", 1, 1);
}

/// Adds the weighted terms of the rays' opacity to the loss of each, and their gradients to those of the densities.
void FrequencyStep::add_terms(Ops& ops, const FrequencyPasses::Pass& pass, int64_t rays,
                              const std::vector<float>& behind, std::vector<float>& d_raw, Losses& losses) {
  const auto n = size_t(rays);
  std::vector<float> color(3 * n), depth(n), none(3 * n, 0.0F), gradient(n, 0.0F), more(d_raw.size()),
      d_rgb(3 * d_raw.size());
  float* const opacity = opacity_;
  float* const d_opacity = d_opacity_;
  float* const weight = weight_;
  pass.composite(ops, rays, {behind.data(), color.data(), opacity, depth.data()});
  for (size_t k = 0; k < kLossTerms; ++k) {
    const auto& [term, own] = loss_terms()[k];
    if (term->where != Term::on_rays || !(config_.terms.*own > 0)) continue;
    std::fill_n(weight, n, float(config_.terms.*own) / float(config_.rays));
    *one_ = 1;
    *loss_ = *own_loss_ = 0;
    TermTensors lent;
    lent.values = lent.rays = rays;
    lent.weight = weight_;
    lent.value = value_;
    lent.one = one_;
    lent.loss = loss_;
    lent.own_loss = own_loss_;
    lent.opacity = opacity_;
    lent.d_opacity = d_opacity_;
    term->add(ops, lent);
    losses.terms[k] += double(*own_loss_);
    for (size_t r = 0; r < n; ++r) gradient[r] += d_opacity[r];
  }
  ops.call<CompositeBwd>({.rays = rays, .samples = int64_t(d_raw.size())},
                         {.ray_begin = pass.ray_begin.data(),
                          .density_raw = pass.net.raw(),
                          .rgb = pass.net.rgb(),
                          .delta = pass.delta.data(),
                          .t = pass.t.data(),
                          .background = behind.data(),
                          .d_color = none.data(),
                          .d_opacity = gradient.data(),
                          .d_depth = none.data(),
                          .d_density_raw = more.data(),
                          .d_rgb = d_rgb.data()});
  for (size_t i = 0; i < d_raw.size(); ++i) d_raw[i] += more[i];
}

/// Computes losses and gradients of both passes for some rays of a batch.
void FrequencyStep::learn_from(Ops& ops, const FrequencyModel& model, const Batch& batch, const RaySpan& rays,
                               const std::optional<Draws>& draws, const std::array<float*, 2>& gradients,
                               Losses& losses) {
  passes_.evaluate(ops, model, rays, draws);
  const int64_t n = rays.count, all = config_.rays;
  std::vector<float> behind(size_t(3 * n)), wanted(size_t(3 * n)), weight(size_t(n), 1 / float(all)),
      lost(static_cast<size_t>(n));
  for (int64_t c = 0; c < 3; ++c) {
    std::copy_n(batch.backdrop + c * batch.rays + rays.first, n, behind.data() + c * n);
    std::copy_n(batch.target + c * batch.rays + rays.first, n, wanted.data() + c * n);
  }
  const int64_t kind = loss_kind(config_.loss);
  for (int k = 0; k <= passes_.last(); ++k) {
    FrequencyPasses::Pass& pass = passes_.passes()[size_t(k)];
    const int64_t samples = n * pass.each;
    std::vector<float> d_raw(static_cast<size_t>(samples)), d_rgb(size_t(3 * samples));
    ops.call<CompositeLossBwd>({.rays = n, .samples = samples, .kind = kind},
                               {.ray_begin = pass.ray_begin.data(),
                                .density_raw = pass.net.raw(),
                                .rgb = pass.net.rgb(),
                                .delta = pass.delta.data(),
                                .background = behind.data(),
                                .target = wanted.data(),
                                .d_loss = weight.data(),
                                .loss = lost.data(),
                                .d_density_raw = d_raw.data(),
                                .d_rgb = d_rgb.data()});
    for (const float v : lost) losses.loss += double(v) / double(all);
    if (k == passes_.last()) {
      std::vector<float> color(size_t(3 * n)), opacity(static_cast<size_t>(n)), depth(static_cast<size_t>(n));
      pass.composite(ops, n, {behind.data(), color.data(), opacity.data(), depth.data()});
      for (size_t i = 0; i < color.size(); ++i)
        losses.squares += (double(color[i]) - double(wanted[i])) * (double(color[i]) - double(wanted[i]));
    }
    if (has_terms(config_.terms, Term::on_rays)) add_terms(ops, pass, n, behind, d_raw, losses);
    pass.net.backward(ops, model.parameters[size_t(k)].data(), d_raw.data(), d_rgb.data(),
                      gradients[size_t(k)]);
  }
}

FrequencyStep::Losses FrequencyStep::loss_and_gradient(Ops& ops, const FrequencyModel& model,
                                                       const Batch& batch, const std::optional<Draws>& draws,
                                                       const std::array<float*, 2>& gradients) {
  Losses losses;
  for (int64_t first = 0; first < batch.rays; first += passes_.rays())
    learn_from(
        ops, model, batch,
        {batch.origins, batch.directions, batch.rays, first, std::min(passes_.rays(), batch.rays - first)},
        draws, gradients, losses);
  return losses;
}

namespace {

/// Measures a step.
std::vector<PlannedCall> step_calls_of(const FrequencyConfig& given) {
  FrequencyConfig c = given;
  c.rays = std::min(c.rays, c.chunk / (c.coarse + c.fine));  // those that are evaluated at a time
  FrequencyModel model(c, {});
  Memory drawing;
  constexpr int64_t kPixels = 400 * 400;
  const ViewData data{.views = 1, .pixels = kPixels};
  const ViewTensors views = declare_views(drawing, data);
  const auto numbers = drawing.tensor<int32_t>("numbers", 1, int64_t(sizeof(StepNumbers) / sizeof(int32_t)));
  const auto of_rays = [&](int64_t rows) { return drawing.tensor<float>("of rays", rows, given.rays); };
  const DrawnRays drawn{given.rays, of_rays(3), of_rays(3), of_rays(1), of_rays(3), of_rays(3), of_rays(1)};
  Memory memory(cpu_backend());
  FrequencyStep step(memory, c, {});
  memory.allocate();
  const std::vector<float> zeros(size_t(3 * c.rays)), ahead(size_t(3 * c.rays), 1.0F);
  OptimizerState state(model.parameters[0].size(), model.parameters[0].size());
  MeasureOps measured(drawing);
  draw_rays(measured, {c.background, c.pixel_point}, data, views, numbers, drawn);
  step.loss_and_gradient(measured, model, {zeros.data(), ahead.data(), zeros.data(), zeros.data(), c.rays},
                         {}, {state.gradient.data(), state.gradient.data()});
  adam_step(measured, {}, model.parameters[0].size(), model.parameters[0], state);
  return measured.deciding();
}

/// Measures a piece of a picture.
void picture(Ops& ops, const FrequencyConfig& c, const FrequencyModel& model, bool pairs) {
  FrequencyPasses passes(c, {});
  passes.multiply_pairs(pairs);
  const int64_t rays = passes.rays();
  const std::vector<float> zeros(size_t(3 * rays)), ahead(size_t(3 * rays), 1.0F);
  std::vector<float> color(size_t(3 * rays)), opacity(static_cast<size_t>(rays)),
      depth(static_cast<size_t>(rays));
  passes.evaluate(ops, model, {zeros.data(), ahead.data(), rays, 0, rays}, {});
  passes.last_pass().composite(ops, rays, {zeros.data(), color.data(), opacity.data(), depth.data()});
}

}  // namespace

std::vector<PlannedCall> frequency_calls(const FrequencyConfig& c, bool training, Storage precision) {
  if (training) return step_calls_of(c);
  FrequencyModel model(c, {});
  model.initialize(0);
  if (precision != Storage::f32) model = model.narrowed(precision);
  Memory none;
  MeasureOps measured(none);
  picture(measured, c, model, false);
  std::vector<PlannedCall> calls = measured.deciding();
  if (precision == Storage::bf16 || precision == Storage::int8) {
    MeasureOps pairs(none);
    picture(pairs, c, model, true);
    add_other_calls(pairs, calls);
  }
  return calls;
}

}  // namespace klab
