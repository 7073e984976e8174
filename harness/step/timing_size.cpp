#include "harness/step/timing_size.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "harness/check/cases.h"
#include "harness/timing/machine.h"

namespace klab {
namespace {

constexpr double kMostTimed = 4e8;  // units of about a nanosecond, as work() counts
constexpr double kMostElsewhere = 4e7;
constexpr double kMostCounted = 6e5;

/// What a run costs where threads are executed one by one: rungs that sort or clear go over whole tensors, however
/// little of them the formula of costs calls compulsory.
double counted_work(const Op& op, ShapeView shape) {
  double elements = 0;
  for (const TensorSpec& t : op.tensors(shape)) elements += double(volume(t.dims));
  return std::max(work(op, shape), elements / 4);
}

/// Dimensions, the largest first, made smaller until the shape costs at most that: halved, or less by one where the
/// dimension is a logarithm. One that hardly changes the cost is left alone.
template <class Work>
std::vector<int64_t> shrunk(const Op& op, std::vector<int64_t> shape, double most, Work cost) {
  const auto smaller = [&]() -> std::vector<int64_t> {
    std::vector<size_t> order(shape.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::ranges::stable_sort(order, std::greater(), [&](size_t d) { return shape[d]; });
    for (const size_t d : order) {
      auto less = shape;
      if (op.dims[d].starts_with("log2_"))
        --less[d];
      else
        less[d] = less[d] / 2 | (less[d] > 1 && less[d] % 2 == 1 ? 1 : 0);  // odd sizes stay odd
      if (op.valid(less) && cost(less) > 0 && cost(less) < 0.9 * cost(shape)) return less;
    }
    return {};
  };
  while (cost(shape) > most) {
    auto less = smaller();
    if (less.empty()) break;
    shape = std::move(less);
  }
  return shape;
}

/// As small as what is counted must be.
std::vector<int64_t> shrunk_to_count(const Op& op, const std::vector<int64_t>& shape) {
  return shrunk(op, shape, kMostCounted, [&](ShapeView s) { return counted_work(op, s); });
}

const BenchShape& tour_size(const LabOp& op) {
  for (const BenchShape& b : op.bench)
    if (b.tour) return b;
  return op.bench.front();
}

}  // namespace

BenchShape timing_size(const Step& step) {
  const LabOp& op = *step.op;
  BenchShape size = tour_size(op);
  if (const auto& claimed = step.own->expect.shape; !claimed.empty()) {
    const auto at = std::ranges::find_if(op.bench, [&](const BenchShape& b) { return b.shape == claimed; });
    // A size of its own: cold where its operands leave the caches anyway.
    size = at != op.bench.end()
               ? *at
               : BenchShape{.name = "where the change is said to show",
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
  // Where the size had to be halved the claim is taken over: what is asked is held to what klab's rung reaches there.
  const bool claimed = !step.own->expect.shape.empty();
  return claimed && !size.shape.empty() ? step.own->expect.over_parent : 0;
}

std::vector<int64_t> counting_shape(const Step& step) {
  const LabOp& op = *step.op;
  return shrunk_to_count(op.op,
                         step.own->expect.shape.empty() ? tour_size(op).shape : step.own->expect.shape);
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
