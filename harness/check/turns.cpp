#include "harness/check/turns.h"

#include <omp.h>

#include <algorithm>
#include <iterator>

#include "harness/check/detectors.h"

namespace klab {

std::vector<Pattern> patterns_for(const LabOp& op, const CheckOptions& options, double cost, size_t turn) {
  if (options.quick || !uses(Detector::hard_inputs)) return {Pattern::random, Pattern::random};
  std::vector<Pattern> all(std::begin(kPatterns), std::end(kPatterns));
  if (!op.nan_in.empty() || !op.infinity_in.empty()) all.push_back(Pattern::not_finite);
  if (cost <= kTryEverythingBelow || !options.shape.empty()) return all;
  return {Pattern::random, all[1 + turn % (all.size() - 1)]};
}

std::vector<Pattern> patterns_beyond(const LabOp& op, ShapeView shape) {
  if (!uses(Detector::hard_inputs)) return {Pattern::random, Pattern::random};
  // Where the bound of a sum exceeds one of its terms, only these show a term that is left out.
  if (op.op.terms(shape) > kLongSum && uses(Detector::long_sums))
    return {Pattern::random, Pattern::sparse, Pattern::ones, Pattern::wide};
  return {Pattern::random, Pattern::wide};
}

DividedShape divided_shape(double work) {
  constexpr double kWorthDividing = 1000;
  const bool little = work < kWorthDividing;
  return {.little = little, .distance = little ? kWorthDividing - work : work - kWorthDividing};
}

int other_threads(size_t turn) {
  const int cores = omp_get_num_procs();
  const int some = std::max(cores + 3, 5);
  // Arrays with a place for each thread have 8, 16 or 64 of them.
  constexpr int kMany = 65;
  const int list[] = {1, 3, some, kMany, 3, 1, some, 3};
  return list[turn % std::size(list)];
}

}  // namespace klab
