#include "harness/step/timing_size.h"

#include <algorithm>

#include "harness/check/cases.h"
#include "harness/timing/machine.h"

namespace klab {
namespace {

constexpr double kMostTimed = 4e8;  // units of about a nanosecond, as in work()
constexpr double kMostElsewhere = 4e7;
constexpr double kMostCounted = 6e5;

/// Returns the cost of a run whose threads are executed one by one. Rungs that sort or clear process whole
/// tensors, even if the cost formula calls little of them compulsory.
double counted_work(const Op& op, ShapeView shape) {
  double elements = 0;
  for (const TensorSpec& t : op.tensors(shape)) elements += double(volume(t.dims));
  return std::max(work(op, shape), elements / 4);
}

/// Shrinks a shape to the size for counting.
std::vector<int64_t> shrunk_to_count(const Op& op, const std::vector<int64_t>& shape) {
  return shrunk(op, shape, kMostCounted, [&](ShapeView s) { return counted_work(op, s); });
}

const BenchShape& tour_size(const LabOp& op) {
  for (const BenchShape& b : op.bench)
    if (b.tour) return b;
  return op.bench.front();
}

/// Returns the shape at which the change shows: where a branch pays, or that of the rung's prediction; {} if
/// there is neither.
const std::vector<int64_t>& shape_of_change(const Step& step) {
  return step.own->branch() ? step.own->when.shape : step.own->expect.shape;
}

}  // namespace

BenchShape timing_size(const Step& step) {
  const LabOp& op = *step.op;
  BenchShape size = tour_size(op);
  if (const auto& claimed = shape_of_change(step); !claimed.empty()) {
    const auto at = std::ranges::find_if(op.bench, [&](const BenchShape& b) { return b.shape == claimed; });
    // A size that the lab does not time: cold if its operands exceed the caches anyway.
    size = at != op.bench.end()
               ? *at
               : BenchShape{.name = "where the change should show",
                            .shape = claimed,
                            .cache = op.op.cost(claimed).bytes > double(last_level_bytes(this_machine()))
                                         ? Cache::cold
                                         : Cache::hot};
  }
  const auto smaller = shrunk(op.op, size.shape, kMostTimed, [&](ShapeView s) { return work(op.op, s); });
  if (smaller != size.shape) size = {.name = size.name + ", halved", .shape = smaller, .cache = size.cache};
  return size;
}

std::vector<BenchShape> other_sizes(const Step& step, const BenchShape& timed) {
  std::vector<BenchShape> list;
  for (BenchShape b : step.op->bench) {
    b.shape =
        shrunk(step.op->op, b.shape, kMostElsewhere, [&](ShapeView s) { return busiest_work(*step.op, s); });
    if (step.op->op.cost(b.shape).bytes < double(last_level_bytes(this_machine()))) b.cache = Cache::hot;
    const auto same = [&](const BenchShape& other) {
      return other.shape == b.shape && other.cache == b.cache;
    };
    if (same(timed) || std::ranges::any_of(list, same)) continue;
    list.push_back(b);
    if (list.size() == 2) break;
  }
  return list;
}

double expected_at(const Step& step, const BenchShape& size) {
  // Keep the claim if the size was halved: the requirement is limited to the gain of klab's rung there.
  const bool claimed = !step.own->expect.shape.empty();
  return claimed && !size.shape.empty() ? step.own->expect.over_parent : 0;
}

std::vector<int64_t> counting_shape(const Step& step) {
  const LabOp& op = *step.op;
  const auto& change = shape_of_change(step);
  return shrunk_to_count(op.op, change.empty() ? tour_size(op).shape : change);
}

std::vector<std::vector<int64_t>> other_counting_shapes(const Step& step,
                                                        const std::vector<int64_t>& counted) {
  std::vector<std::vector<int64_t>> list;
  for (const BenchShape& b : step.op->bench) {
    auto shape = shrunk_to_count(step.op->op, b.shape);
    if (shape != counted && std::ranges::find(list, shape) == list.end()) list.push_back(std::move(shape));
  }
  return list;
}

}  // namespace klab
