#include "harness/check/many_blocks.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "harness/check/cases.h"
#include "harness/check/detectors.h"
#include "harness/check/drawn_cases.h"
#include "harness/check/pace.h"
#include "harness/check/trial.h"
#include "harness/check/turns.h"
#include "harness/check/work_notes.h"
#include "reference/generator.h"

namespace klab {
namespace {

using ManyBlocksShape = std::vector<int64_t>;

constexpr double kManyBlocksWork = 4e7;  // of one run, in units of simt::Session::work(): a fifth of a second
constexpr double kManyBlocksUnexpected = 4;        // times that: there a run ends
constexpr uint64_t kManyBlocksSteps = 10'000'000;  // of one block, which may join the results of all

ManyBlocksShape many_blocks_shape(const LabOp& op, const Variant& variant,
                                  const std::vector<ManyBlocksShape>& beyond, PartInputs& inputs) {
  for (const ManyBlocksShape& shape : beyond)
    if (auto found = shape_with_many_blocks(op, variant, shape, kManyBlocksWork, inputs); !found.empty())
      return found;
  return {};
}

/// Inputs in which a missing result shows: where sums are long, the bound of random ones hides it.
std::vector<Pattern> many_blocks_patterns(const Op& op, ShapeView shape) {
  if (op.terms(shape) > kLongSum) return {Pattern::sparse, Pattern::ones};
  return {Pattern::random};
}

void run_many_blocks(const LabOp& op, const VariantResult& one, const ManyBlocksShape& shape,
                     const std::vector<TensorSpec>& specs, const std::vector<Given>& givens,
                     CrashGuard& guard) {
  const auto begin = std::chrono::steady_clock::now();
  Trial trial(op.op, *one.variant, shape, specs, std::vector<int64_t>(specs.size(), 0), guard);
  trial.end_after(kManyBlocksSteps, uint64_t(kManyBlocksUnexpected * kManyBlocksWork));
  for (const Given& given : givens) {
    Trial::Outcome outcome = trial.run(given);
    if (outcome.failure && trial.ended_early()) break;  // it takes more than its parts let expect
    ++one.result->cases;
    one.result->worst = std::max(one.result->worst, outcome.worst);
    if (!outcome.failure) continue;
    one.result->failures.push_back(std::move(*outcome.failure));
    break;
  }
  one.result->seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  note_work("");
}

}  // namespace

void check_many_blocks(const LabOp& op, std::span<const VariantResult> list, const CheckOptions& options,
                       CrashGuard& guard) {
  if (list.empty() || !uses(Detector::many_blocks)) return;
  std::vector<ManyBlocksShape> beyond = shapes_beyond(op, options.seed);
  std::ranges::stable_sort(beyond, {}, [&](const auto& shape) { return busiest_work(op, shape); });
  PartInputs inputs(op);
  std::vector<ManyBlocksShape> shapes(list.size());
#pragma omp parallel for schedule(dynamic)
  for (size_t k = 0; k < list.size(); ++k)  // NOLINT(openmp-exception-escape): Parts catches them
    shapes[k] = many_blocks_shape(op, *list[k].variant, beyond, inputs);
  std::map<ManyBlocksShape, std::vector<VariantResult>> by_shape;
  for (size_t k = 0; k < list.size(); ++k)
    if (!shapes[k].empty()) by_shape[shapes[k]].push_back(list[k]);
  size_t turn = 0;
  for (const auto& one : by_shape) {
    const ManyBlocksShape& shape = one.first;
    const std::vector<VariantResult>& some = one.second;
    if (options.stop && options.stop()) return;
    if (options.at) options.at(shape);
    guard.doing("running the reference of " + op.op.name + " at " + shape_text(op.op, shape));
    const auto specs = op.op.tensors(shape);
    Generator random = generator_of(options, ++turn);
    std::vector<Given> givens;
    for (const Pattern pattern : many_blocks_patterns(op.op, shape))
      givens.push_back(make_given(op, shape, specs, pattern, random, kAsDrawn));
#pragma omp parallel for schedule(dynamic)
    for (size_t k = 0; k < some.size(); ++k)  // NOLINT(openmp-exception-escape): Trial catches them
      run_many_blocks(op, some[k], shape, specs, givens, guard);
  }
}

}  // namespace klab
