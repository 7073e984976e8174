#include "labs/radiance/run/precision.h"

#include "labs/radiance/run/settings_matrix.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "reference/hashgrid_fwd/hashgrid_fwd.h"

namespace klab {

Unit unit_of_precision(const std::string& precision) {
  if (precision == "f32") return Unit::f32;
  if (precision == "bf16") return Unit::bf16;
  if (precision == "f16") return Unit::f16;
  throw std::invalid_argument(fmt::format("precision {}: f32, bf16 or f16", precision));
}

void require_precision(const std::string& precision, const FieldSettings& settings,
                       const std::string& backend) {
  if (precision != "f32") require_option("--precision " + precision, settings, backend);
}

namespace {

std::string scale_text(const LossScaleSettings& scale) {
  return fmt::format("loss scale {}, {}\n", scale.start, scale.dynamic ? "dynamic" : "static");
}

/// Describes which CUDA rungs take halves.
std::string half_text_on_a_gpu(const LossScaleSettings& scale, const Plan& plan,
                               const std::vector<std::string>& taken) {
  const std::string lookup(HashgridFwd::name);
  const Variant* table = plan.contains(lookup) ? plan.variant(lookup) : nullptr;
  const bool halves = table != nullptr && !table->needs.empty();
  return fmt::format(
      "precision f16: {}; the table is read {}; gradients are rounded to half precision where they are "
      "stored; "
      "masters, the table's gradient, sums, losses and moments are float; {}",
      taken.empty() ? "no rung of the plan multiplies halves, so products are in float"
                    : fmt::format("factors of {} are halves", fmt::join(taken, ", ")),
      halves ? fmt::format("in half precision ({})", table->id) : "in float", scale_text(scale));
}

/// Describes half precision on a processor: it only stores numbers, since no rung for it multiplies halves.
std::string half_text(const LossScaleSettings& scale, bool no_rung) {
  std::string text = fmt::format(
      "precision f16: matrices, activations and gradients are rounded to half precision where they are "
      "stored; masters, the table, "
      "sums, losses and moments are float; {}",
      scale_text(scale));
  if (no_rung)
    text +=
        "note      no rung here multiplies halves: products are in float, of factors that are rounded, and "
        "no faster; "
        "--precision bf16 is, where the processor has it\n";
  return text;
}

}  // namespace

std::string precision_text(const Plan& plan, std::span<const PlannedCall> calls, const std::string& precision,
                           const std::string& ladder, const LossScaleSettings& scale) {
  const Unit unit = unit_of_precision(precision);
  if (unit == Unit::f32) return "";
  std::vector<std::string> taken;
  for (const auto& [op, choice] : plan.choices())
    if (choice.variant->numerics.unit == unit) taken.push_back(op);
  if (unit == Unit::f16)
    return ladder == "cpu" ? half_text(scale, taken.empty()) : half_text_on_a_gpu(scale, plan, taken);
  std::string text = fmt::format("precision {}: {}; parameters, sums and losses are float\n", precision,
                                 taken.empty() ? "no rung in it is the fastest here, or can run: all in float"
                                               : fmt::format("factors of {}", fmt::join(taken, ", ")));
  if (const std::string why = Plan::unavailable(calls, unit, ladder); !why.empty())
    text += fmt::format("note      {}\n", why);
  return text;
}

void take_precision(RunOptions& o, RunState& state) {
  state.precision = o.precision.value_or(state.precision);
  if (o.loss_scale && state.precision != "f16")
    throw std::runtime_error(fmt::format(
        "--loss-scale, --scale-start, --scale-after: are for --precision f16, and this run's is {}: "
        "its gradients need none",
        state.precision));
  state.loss_scale = o.loss_scale.value_or(state.loss_scale);
  require_precision(state.precision, o.settings, o.backend);
  o.settings.precision = state.precision;
  o.settings.loss_scale = state.loss_scale;
  o.settings.on_a_gpu = o.backend != "cpu";
}

VariantIds plan_for_any_precision(VariantIds plan, const std::string& ladder) {
  std::erase_if(plan, [&](const auto& choice) {
    return std::ranges::any_of(variants_of(choice.first, ladder), [](const Variant* v) {
      return !v->peer && (v->numerics.unit != Unit::f32 || !v->needs.empty());  // a tensor of one precision
    });
  });
  return plan;
}

std::string conversion_text(const std::string& before, const std::string& now) {
  return fmt::format(
      "note      the run was trained in {} so far and goes on in {}: parameters are float in both, and rungs "
      "that one of them has of its own are chosen again\n",
      before, now);
}

}  // namespace klab
