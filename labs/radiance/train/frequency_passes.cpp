#include "labs/radiance/train/frequency_passes.h"

#include <algorithm>

#include "harness/program/op_names.h"
#include "reference/activation_bwd/activation_bwd.h"
#include "reference/activation_fwd/activation_fwd.h"
#include "reference/adam/adam.h"
#include "reference/axpy/axpy.h"
#include "reference/bias_add_bwd/bias_add_bwd.h"
#include "reference/bias_add_fwd/bias_add_fwd.h"
#include "reference/cast/cast.h"
#include "reference/composite_bwd/composite_bwd.h"
#include "reference/composite_fwd/composite_fwd.h"
#include "reference/composite_loss_bwd/composite_loss_bwd.h"
#include "reference/draw_rays/draw_rays.h"
#include "reference/frequency_fwd/frequency_fwd.h"
#include "reference/matmul/matmul.h"
#include "reference/matmul_bf16/matmul_bf16.h"
#include "reference/matmul_bwd/matmul_bwd.h"
#include "reference/ray_march/ray_march.h"
#include "reference/sample_pdf/sample_pdf.h"
#include "reference/sample_weights_fwd/sample_weights_fwd.h"
#include "reference/weighted_sum/weighted_sum.h"

namespace klab {
namespace {

const PlannedProgramRegistrar program({
    .name = "the trainer of frequency fields",
    .ops = with_ops_of_terms(
        op_names<DrawRays, FrequencyFwd, Matmul, BiasAddFwd, ActivationFwd, SampleWeightsFwd, SamplePdf,
                 CompositeFwd, CompositeLossBwd, MatmulBwd, BiasAddBwd, ActivationBwd, Axpy, Adam, Cast,
                 MatmulBf16, CompositeBwd, WeightedSum>(),
        Term::opacity),
    .fused = "",
    .parts = {},
});

/// Returns whether the processor has an instruction for products of bfloat16s.
bool multiplies_bfloat16() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512bf16") != 0;
#else
  return false;
#endif
}

constexpr uint64_t kCoarse = 1 << 20;  // draws of the first pass come before those of the second

}  // namespace

FrequencyPasses::Pass::Pass(const FrequencyConfig& config, int64_t samples)
    : each(samples),
      ray_begin(size_t(config.chunk / (config.coarse + config.fine)) + 1),
      t(size_t(config.chunk)),
      delta(size_t(config.chunk)),
      positions(size_t(3 * config.chunk)),
      directions(size_t(3 * config.chunk)),
      net(config, config.chunk) {
  for (size_t r = 0; r < ray_begin.size(); ++r) ray_begin[r] = int32_t(int64_t(r) * samples);
}

void FrequencyPasses::Pass::composite(Ops& ops, int64_t rays, const Shown& to) const {
  ops.call<CompositeFwd>({.rays = rays, .samples = rays * each}, {.ray_begin = ray_begin.data(),
                                                                  .density_raw = net.raw(),
                                                                  .rgb = net.rgb(),
                                                                  .delta = delta.data(),
                                                                  .t = t.data(),
                                                                  .background = to.background,
                                                                  .color = to.color,
                                                                  .opacity = to.opacity,
                                                                  .depth = to.depth});
}

FrequencyPasses::FrequencyPasses(const FrequencyConfig& config, const Placement& placement)
    : config_(config),
      placement_(placement),
      passes_{Pass(config, config.coarse), Pass(config, config.coarse + config.fine)} {
  const auto most = size_t(rays());
  edges_.resize(most * size_t(config.coarse + 1));
  weights_.resize(most * size_t(config.coarse));
  jitter_.resize(most * size_t(config.fine));
  more_.resize(most * size_t(config.fine));
  leave_.resize(most);
}

/// Places a sample in each of several strata of equal length between the ray's entry into the box and its
/// exit. A ray that misses the box has strata without length, and shows its background.
void FrequencyPasses::spread(const RaySpan& rays, const std::optional<Draws>& draws) {
  Pass& pass = passes_[0];
  const int64_t bins = config_.coarse;
  for (int64_t r = 0; r < rays.count; ++r) {
    float o[3], d[3];
    for (int64_t axis = 0; axis < 3; ++axis) {
      o[axis] = rays.origins[axis * rays.stride + rays.first + r];
      d[axis] = rays.directions[axis * rays.stride + rays.first + r];
    }
    RayMarch::Span span = RayMarch::box_span(o, d, placement_.near, placement_.far, placement_.side());
    if (!(span.enter < span.leave)) span = {placement_.near, placement_.near};
    leave_[size_t(r)] = span.leave;
    float* edges = edges_.data() + r * (bins + 1);
    const float width = (span.leave - span.enter) / float(bins);
    for (int64_t b = 0; b <= bins; ++b) edges[b] = span.enter + float(b) * width;
    for (int64_t b = 0; b < bins; ++b) {
      const auto draw = uint64_t((rays.first + r) * bins + b);
      pass.t[size_t(r * bins + b)] = edges[b] + (draws ? draws->unit(draw) : 0.5F) * width;
      pass.delta[size_t(r * bins + b)] = width;
    }
  }
}

/// Computes positions and directions of a pass's samples. A sample's length is the distance to the next one,
/// unless it is known already.
void FrequencyPasses::place(Pass& pass, const RaySpan& rays) const {
  const int64_t n = rays.count * pass.each;
  const float scale = 2 / placement_.side();
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < rays.count; ++r)
    for (int64_t axis = 0; axis < 3; ++axis) {
      const float o = rays.origins[axis * rays.stride + rays.first + r],
                  d = rays.directions[axis * rays.stride + rays.first + r];
      for (int64_t i = r * pass.each; i < (r + 1) * pass.each; ++i) {
        pass.positions[size_t(axis * n + i)] =
            std::clamp((o + pass.t[size_t(i)] * d - 0.5F) * scale, -1.0F, 1.0F);
        pass.directions[size_t(axis * n + i)] = d;
      }
    }
}

/// Places the second pass's samples: those of the first, and those placed by its weights.
void FrequencyPasses::refine(Ops& ops, const RaySpan& span, const std::optional<Draws>& draws) {
  const int64_t rays = span.count, coarse = config_.coarse, fine = config_.fine, both = coarse + fine;
  ops.call<SampleWeightsFwd>({.rays = rays, .samples = rays * coarse},
                             {.ray_begin = passes_[0].ray_begin.data(),
                              .density_raw = passes_[0].net.raw(),
                              .delta = passes_[0].delta.data(),
                              .weights = weights_.data()});
  for (int64_t i = 0; i < rays * fine; ++i)
    jitter_[size_t(i)] =
        draws ? draws->unit(kCoarse * uint64_t(coarse) + uint64_t(span.first * fine + i)) : 0.5F;
  ops.call<SamplePdf>(
      {.rays = rays, .bins = coarse, .count = fine},
      {.edges = edges_.data(), .weights = weights_.data(), .jitter = jitter_.data(), .t = more_.data()});
  Pass& pass = passes_[1];
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < rays; ++r) {
    const auto first = passes_[0].t.begin() + r * coarse, more = more_.begin() + r * fine;
    const auto to = pass.t.begin() + r * both;
    std::merge(first, first + coarse, more, more + fine, to);
    for (int64_t i = 0; i < both; ++i)
      pass.delta[size_t(r * both + i)] =
          std::max(0.0F, (i + 1 < both ? to[i + 1] : leave_[size_t(r)]) - to[i]);
  }
}

void FrequencyPasses::evaluate(Ops& ops, const FrequencyModel& model, const RaySpan& rays,
                               const std::optional<Draws>& draws) {
  spread(rays, draws);
  for (int k = 0; k <= last(); ++k) {
    Pass& pass = passes_[size_t(k)];
    if (k == 1) refine(ops, rays, draws);
    place(pass, rays);
    pass.net.forward(ops, model.numbers(k, pairs_), pass.positions.data(), pass.directions.data(),
                     rays.count * pass.each);
  }
}

bool multiplies_pairs(const Plan& plan) {
  if (!plan.contains(std::string(MatmulBf16::name))) return false;
  const auto seconds = [&](std::string_view op) { return plan.at(std::string(op)).seconds; };
  const double floats = seconds(Matmul::name), pairs = seconds(MatmulBf16::name);
  // Untimed: any but the first rung is faster where the processor has an instruction for it.
  if (floats == 0 || pairs == 0)
    return multiplies_bfloat16() && !plan.variant(std::string(MatmulBf16::name))->parent.empty();
  return pairs + seconds(Cast::name) <= floats;
}

}  // namespace klab
