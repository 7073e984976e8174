#include "harness/check/host_side.h"

#include <map>
#include <string>

#include "harness/check/cases.h"
#include "harness/check/detectors.h"
#include "harness/check/drawn_cases.h"
#include "harness/check/thread_watch.h"
#include "harness/check/trial.h"
#include "reference/generator.h"

namespace klab {
namespace {

constexpr double kHostSidePatience = 0.5;  // seconds for a thread that was left behind to end

/// Returns the cheapest shape with work that the variant supports, nullptr if there is none.
const std::vector<int64_t>* cheapest_shape(const LabOp& op, const Variant& variant,
                                           const std::vector<std::vector<int64_t>>& shapes) {
  const std::vector<int64_t>* best = nullptr;
  double least = 0;
  for (const auto& shape : shapes) {
    const double cost = busiest_work(op, shape);
    if (!(cost > 0) || (best != nullptr && cost >= least)) continue;
    if (!variant.supported(shape, host_of(variant)).empty()) continue;
    best = &shape;
    least = cost;
  }
  return best;
}

}  // namespace

void check_host_side(const LabOp& op, std::span<const VariantResult> list,
                     const std::vector<std::vector<int64_t>>& shapes, const CheckOptions& options,
                     CrashGuard& guard) {
  if (!threads_are_watched() || !uses(Detector::host_threads)) return;
  std::map<std::vector<int64_t>, std::vector<VariantResult>> by_shape;
  for (const VariantResult& one : list)
    if (one.variant->backend == "cuda")
      if (const auto* shape = cheapest_shape(op, *one.variant, shapes)) by_shape[*shape].push_back(one);
  for (const auto& [shape, some] : by_shape) {
    if (options.stop && options.stop()) return;
    guard.doing("running the reference of " + op.op.name + " at " + shape_text(op.op, shape));
    const auto specs = op.op.tensors(shape);
    Generator random = generator_of(options, 0);
    const Given given = make_given(op, shape, specs, Pattern::random, random);
    for (const VariantResult& one : some) {
      Trial trial(op.op, *one.variant, shape, specs, std::vector<int64_t>(specs.size(), 0), guard);
      const ThreadWatch watch(1, false);
      const Trial::Outcome outcome = trial.run(given);
      ++one.result->cases;
      const std::string left = watch.still_running();
      if (left.empty()) continue;
      one.result->failures.push_back({.fault = Fault::late,
                                      .inputs = shape_text(op.op, shape) + ", random inputs",
                                      .note = left + " after it has returned"});
      // Threads that go on may write to the tensors.
      if (!watch.wait_for_end(kHostSidePatience)) trial.abandon();
    }
  }
}

}  // namespace klab
