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

double expected_host_work(const LabOp& op, const Variant& variant, ShapeView shape) {
  constexpr int64_t kPart = 32;
  constexpr uint64_t kSteps = 3'000'000;  // of one block
  constexpr double never = std::numeric_limits<double>::infinity();
  std::vector<int64_t> part(shape.begin(), shape.end());
  int64_t& largest = *std::ranges::max_element(part);
  largest = (largest + kPart - 1) / kPart;
  if (!op.op.valid(part)) return never;
  const auto specs = op.op.tensors(part);
  Tensors tensors(specs, Tensors::View::variant);
  Generator random(1);
  fill(op.op, part, specs, tensors.pointers(), Pattern::random, op.huge, random);
  simt::Session session({.traced = false, .counts = false, .step_limit = kSteps});
  try {
    variant.bind(part, given_to(variant, specs, tensors.pointers()))();
  } catch (const std::exception&) {
    return never;
  }
  return double(kPart) * double(session.work());
}

}  // namespace klab
