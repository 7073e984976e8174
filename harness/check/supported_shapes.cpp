#include "harness/check/supported_shapes.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "harness/check/cases.h"
#include "harness/check/check.h"
#include "reference/generator.h"

namespace klab {
namespace {

using SupportedShape = std::vector<int64_t>;

// What the check spends on a size that is there for one rung; `klab bench` checks it at the sizes it times itself.
constexpr double kOneRungsWork = 2e6;

// Shapes of a check at which one rung is supported: with fewer of them, some are made for it.
constexpr size_t kFewestFitting = 8;

bool fits(const Variant& variant, ShapeView shape) {
  return variant.supported(shape, host_of(variant)).empty();
}

// Shapes for a rung that is for few: from a size it is known to be for, shrunk to what a check can afford, walking to others by
// putting sizes of the lab in the place of some of its dimensions.
class Fitting {
 public:
  Fitting(const LabOp& op, const Variant& variant, uint64_t seed)
      : op_(op), variant_(variant), sizes_(check_sizes(op, variant.tiles)), random_(seed) {}

  /// The size at which a branch pays first, shrunk; {} where no size is known that the rung does.
  SupportedShape start() {
    std::vector<SupportedShape> known;
    if (variant_.branch()) known.push_back(variant_.when.shape);
    if (!variant_.expect.shape.empty()) known.push_back(variant_.expect.shape);
    for (const BenchShape& b : op_.bench) known.push_back(b.shape);
    for (const SupportedShape& shape : known) {
      if (!op_.op.valid(shape) || !fits(variant_, shape)) continue;
      SupportedShape small =
          shrunk(op_.op, shape, most_, [&](ShapeView s) { return fits(variant_, s) ? cost(s) : 0; });
      if (cost(small) <= op_.check_flops) return small;
    }
    return {};
  }

  /// Others than those in `seen`, into which they go too.
  std::vector<SupportedShape> walk(const SupportedShape& from, size_t count, std::set<SupportedShape>& seen) {
    std::vector<SupportedShape> found;
    for (int attempt = 0; attempt < 24 && found.size() < count; ++attempt) {
      SupportedShape shape = from;
      std::vector<size_t> order(shape.size());
      std::iota(order.begin(), order.end(), size_t(0));
      for (size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[random_() % k]);
      for (const size_t d : order) replace(shape, d);
      if (!is_empty(op_, shape) && seen.insert(shape).second) found.push_back(std::move(shape));
    }
    return found;
  }

 private:
  /// LabOp::busiest is the work of CUDA rungs; where whole tiles are filled, no shape of a CPU rung would be cheap by it.
  double cost(ShapeView shape) const {
    return variant_.backend == "cpu" ? work(op_.op, shape) : busiest_work(op_, shape);
  }

  void replace(SupportedShape& shape, size_t d) {
    if (sizes_[d].empty()) return;
    for (int attempt = 0; attempt < 4; ++attempt) {
      const int64_t before = shape[d];
      shape[d] = sizes_[d][random_() % sizes_[d].size()];
      if (random_() % 2 == 0 && !is_parameter(op_, d)) shape[d] += int64_t(random_() % 4);
      if (op_.op.valid(shape) && !is_empty(op_, shape) && cost(shape) <= most_ && fits(variant_, shape))
        return;
      shape[d] = before;
    }
  }

  const LabOp& op_;
  const Variant& variant_;
  std::vector<SupportedShape> sizes_;
  Generator random_;
  double most_ = std::min(op_.check_flops, kOneRungsWork);
};

}  // namespace

std::vector<SupportedShape> supported_among(const Variant& variant, const std::vector<SupportedShape>& list) {
  std::vector<SupportedShape> some;
  for (const SupportedShape& shape : list)
    if (fits(variant, shape)) some.push_back(shape);
  return some;
}

void add_supported_shapes(const LabOp& op, std::span<const Variant* const> variants, uint64_t seed,
                          std::vector<SupportedShape>& shapes) {
  std::set<SupportedShape> seen(shapes.begin(), shapes.end());
  for (const Variant* v : variants) {
    size_t fit = 0;
    for (const SupportedShape& shape : shapes)
      if (fit < kFewestFitting && !is_empty(op, shape)) fit += fits(*v, shape) ? 1 : 0;
    if (fit == kFewestFitting && !v->branch()) continue;
    Fitting more(op, *v, seed);
    const SupportedShape start = more.start();
    if (start.empty()) continue;
    if (seen.insert(start).second) {
      shapes.push_back(start);
      ++fit;
    }
    if (fit >= kFewestFitting) continue;
    for (SupportedShape& shape : more.walk(start, kFewestFitting - fit, seen))
      shapes.push_back(std::move(shape));
  }
}

std::vector<SupportedShape> spread_supported(std::span<const Variant* const> variants,
                                             const std::vector<SupportedShape>& shapes, size_t most) {
  std::vector<SupportedShape> some = spread_over(shapes, most);
  for (const Variant* v : variants)
    if (supported_among(*v, some).empty())
      for (SupportedShape& shape : spread_over(supported_among(*v, shapes), 2))
        some.push_back(std::move(shape));
  return some;
}

}  // namespace klab
