#include "labs/radiance/run/precision.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>
#include <vector>

namespace klab {

Unit unit_of_precision(const std::string& precision) {
  if (precision == "f32") return Unit::f32;
  if (precision == "bf16") return Unit::bf16;
  throw std::invalid_argument(fmt::format(
      "precision {}: f32 or bf16 (half precision needs a loss scale: klab classify --precision f16)",
      precision));
}

std::string precision_text(const Plan& plan, std::span<const PlannedCall> calls, const std::string& precision,
                           const std::string& ladder) {
  const Unit unit = unit_of_precision(precision);
  if (unit == Unit::f32) return "";
  std::vector<std::string> taken;
  for (const auto& [op, choice] : plan.choices())
    if (choice.variant->numerics.unit == unit) taken.push_back(op);
  std::string text = fmt::format("precision {}: {}; parameters, sums and losses are float\n", precision,
                                 taken.empty() ? "no rung in it is the fastest here, or can run: all in float"
                                               : fmt::format("factors of {}", fmt::join(taken, ", ")));
  if (const std::string why = Plan::unavailable(calls, unit, ladder); !why.empty())
    text += fmt::format("note      {}\n", why);
  return text;
}

std::string conversion_text(const std::string& before, const std::string& now) {
  return fmt::format(
      "note      the run was trained in {} so far and goes on in {}: parameters are float in both, and the "
      "plan is "
      "chosen anew\n",
      before, now);
}

}  // namespace klab
