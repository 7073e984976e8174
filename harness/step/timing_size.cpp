#include "harness/step/timing_size.h"

#include <algorithm>

#include "harness/cases.h"
#include "harness/machine.h"

namespace klab {
namespace {

constexpr double kMostTimed = 4e8;  // units of about a nanosecond, as work() counts
constexpr double kMostCounted = 4e5;

/// The largest dimension halved until the shape costs at most that; stays where no smaller one is legal.
std::vector<int64_t> shrunk(const Op& op, std::vector<int64_t> shape, double most) {
  while (work(op, shape) > most) {
    auto halved = shape;
    *std::max_element(halved.begin(), halved.end()) /= 2;
    if (halved == shape || !op.valid(halved) || !(work(op, halved) > 0)) break;
    shape = halved;
  }
  return shape;
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
  const auto smaller = shrunk(op.op, size.shape, kMostTimed);
  if (smaller != size.shape) size = {.name = size.name + ", halved", .shape = smaller, .cache = size.cache};
  return size;
}

double expected_at(const Step& step, const BenchShape& size) {
  // Where the size had to be halved the claim is taken over: what is asked is held to what klab's rung reaches there.
  const bool claimed = !step.own->expect.shape.empty();
  return claimed && !size.shape.empty() ? step.own->expect.over_parent : 0;
}

std::vector<int64_t> counting_shape(const Step& step) {
  const LabOp& op = *step.op;
  return shrunk(op.op, step.own->expect.shape.empty() ? tour_size(op).shape : step.own->expect.shape,
                kMostCounted);
}

}  // namespace klab
