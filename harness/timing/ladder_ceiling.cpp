#include "harness/timing/ladder_ceiling.h"

#include <algorithm>

#include "harness/timing/ceiling_kernels.h"
#include "harness/timing/machine.h"

namespace klab {
namespace {

/// Cold ladders that are compared with a copy: their own operands, the largest ones read and written. Empty where
/// they are not fit for it.
std::vector<MoveOperands> arrays_to_move(const LabOp& op, const BenchShape& shape, const BenchInputs& inputs,
                                         CeilingKind kind) {
  if (shape.cache != Cache::cold || inputs.accumulates()) return {};
  if (kind != CeilingKind::copy && kind != CeilingKind::copy_2_to_1) return {};
  const auto specs = op.op.tensors(shape.shape);
  const auto floats = [&](size_t k) { return volume(specs[k].dims) * size_of(specs[k].element) / 4; };
  std::vector<size_t> read, written;
  for (size_t k = 0; k < specs.size(); ++k) (specs[k].role == Role::input ? read : written).push_back(k);
  const auto larger = [&](size_t x, size_t y) { return floats(x) > floats(y); };
  std::ranges::sort(read, larger);
  std::ranges::sort(written, larger);
  const size_t wanted = kind == CeilingKind::copy ? 1 : 2;
  if (read.size() < wanted || written.empty()) return {};
  const int64_t n = std::min(floats(read[wanted - 1]), floats(written[0]));
  if (int64_t(wanted + 1) * 4 * n * inputs.copies() < 2 * last_level_bytes(this_machine())) return {};
  std::vector<MoveOperands> list;
  for (int64_t copy = 0; copy < inputs.copies(); ++copy) {
    const auto p = inputs.pointers(copy);
    list.push_back({static_cast<const float*>(p[read[0]]),
                    wanted == 2 ? static_cast<const float*>(p[read[1]]) : nullptr,
                    static_cast<float*>(p[written[0]]), n});
    for (const void* start : {p[read[0]], p[read[wanted - 1]], p[written[0]]})
      if (reinterpret_cast<uintptr_t>(start) % 64 != 0) return {};
  }
  return list;
}

}  // namespace

std::unique_ptr<CeilingSampler> binding_ceiling(const LabOp& op, const BenchShape& shape,
                                                const BenchInputs& inputs, size_t& turn, Ladder& ladder) {
  std::unique_ptr<CeilingSampler> chosen;
  for (const Roof& roof : roofs_of(op, shape, ladder.threads)) {
    auto arrays = arrays_to_move(op, shape, inputs, roof.ceiling.kind);
    auto sampler = arrays.empty() ? std::make_unique<CeilingSampler>(roof.ceiling)
                                  : std::make_unique<CeilingSampler>(roof.ceiling, std::move(arrays), turn);
    std::vector<double> rates;
    for (int i = 0; i < 3; ++i) rates.push_back(sampler->sample(0.003));
    const Resource need{name_of(roof.ceiling), roof.work / ceiling_of(roof.ceiling.level, rates)};
    // A transcendental's polynomial is among the multiply-adds, too: where both come to nearly the same, the name
    // must not be another one in every run.
    constexpr double kNearly = 1.25;
    const bool both = roof.ceiling.kind == CeilingKind::transcendental && !ladder.resources.empty() &&
                      ladder.ceiling == name_of(CeilingKind::fma_f32);
    const bool binds =
        ladder.resources.empty() || need.seconds * (both ? kNearly : 1) > ladder.resources.front().seconds;
    ladder.resources.push_back(need);
    if (!binds) continue;
    std::swap(ladder.resources.front(), ladder.resources.back());
    chosen = std::move(sampler);
    ladder.ceiling = need.ceiling;
    ladder.ceiling_method = chosen->method();
    ladder.ceiling_work = roof.work;
  }
  if (!chosen) return nullptr;
  std::sort(ladder.resources.begin() + 1, ladder.resources.end(),
            [](const Resource& a, const Resource& b) { return a.seconds > b.seconds; });
  return chosen;
}

double ceiling_work_of(const Ladder& ladder, const Variant& variant) {
  const double lanes = operations_per_lane(variant.numerics, ladder.cost) / ladder.cost.flops_per_lane;
  if (lanes == 1 || ladder.ceiling != name_of(CeilingKind::fma_f32)) return ladder.ceiling_work;
  const auto& r = ladder.resources;
  const double next = r.size() > 1 && r[0].seconds > 0 ? r[1].seconds / r[0].seconds : 0;
  return ladder.ceiling_work * std::max(1 / lanes, next);
}

}  // namespace klab
