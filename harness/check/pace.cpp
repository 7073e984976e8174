#include "harness/check/pace.h"

#include <algorithm>
#include <exception>
#include <limits>

#include "harness/core/buffers.h"
#include "harness/core/fill.h"
#include "harness/core/registry.h"
#include "harness/simt/session.h"
#include "reference/generator.h"

namespace klab {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// What the variant costs the host at a `parts`-th of the shape along its largest dimension, times `parts`.
double foretold(const LabOp& op, const Variant& variant, ShapeView shape, int64_t parts, double most) {
  constexpr uint64_t kSteps = 1'000'000;  // of one block
  std::vector<int64_t> part(shape.begin(), shape.end());
  int64_t& largest = *std::ranges::max_element(part);
  const auto whole = double(largest);
  largest = (largest + parts - 1) / parts;
  const double share = double(largest) / whole;
  if (!op.op.valid(part)) return kNever;
  const auto specs = op.op.tensors(part);
  Tensors tensors(specs, Tensors::View::variant);
  Generator random(1);
  fill(op.op, part, specs, tensors.pointers(), Pattern::random, op.huge, random);
  simt::Session session(
      {.traced = false, .counts = false, .step_limit = kSteps, .work_limit = uint64_t(most)});
  try {
    variant.bind(part, given_to(variant, specs, tensors.pointers()))();
  } catch (const std::exception&) {
    return kNever;
  }
  return double(session.work()) / share;
}

}  // namespace

double expected_host_work(const LabOp& op, const Variant& variant, ShapeView shape, double most) {
  // A small part costs little, and tells already where the whole would cost far too much; a larger one tells exactly.
  constexpr double kFar = 4;
  double cost = 0;
  for (const int64_t parts : {16384, 1024, 64})
    if ((cost = foretold(op, variant, shape, parts, most)) > kFar * most) break;
  return cost;
}

}  // namespace klab
