#include "harness/check/gradcheck.h"

#include <algorithm>
#include <cmath>

#include "harness/check/cases.h"
#include "harness/check/gradcheck_parts.h"
#include "harness/check/judge_output.h"
#include "harness/check/supported_shapes.h"

namespace klab {
namespace {

// All errors may share one chain of roundings: four times its root mean square.
double bias_limit(const ErrorSums& s, const Tolerance& t) {
  const double factor = std::min(t.factor, 4 * t.root);
  return t.unit * factor * s.magnitude + t.underflow * double(s.count) +
         t.stored * std::sqrt(s.reference2 * double(s.count));
}

Failure failed(const std::string& tensor, const char* what, double expected, double got, double bound) {
  return {.fault = Fault::gradient,
          .tensor = tensor,
          .expected = digits(expected),
          .got = digits(got),
          .bound = digits(bound),
          .note = what};
}

// Every difference runs the forward again, in double: small shapes, some of moderate size, none that is
// empty.
std::vector<std::vector<int64_t>> gradient_shapes(const LabOp& op, std::span<const Variant* const> variants,
                                                  const CheckOptions& options) {
  constexpr double kMost = 2e7, kSmall = 2e4, kModerate = 1e6;
  const auto cost = [&](const std::vector<int64_t>& shape) { return work(op.op, shape); };
  if (!options.shape.empty()) {
    if (cost(options.shape) > kMost) return {};
    return {options.shape};
  }
  auto all = check_shapes(op, {}, options.seed);
  std::erase_if(all, [&](const auto& shape) { return is_empty(op, shape); });
  std::ranges::stable_sort(all, {}, cost);
  std::vector<std::vector<int64_t>> picked;
  const auto spread = [&](double from, double to, size_t count) {
    std::vector<std::vector<int64_t>> range;
    for (const auto& shape : all)
      if (cost(shape) >= from && cost(shape) < to) range.push_back(shape);
    for (size_t i = 0; i < std::min(count, range.size()); ++i)
      picked.push_back(range[(2 * i + 1) * range.size() / (2 * std::min(count, range.size()))]);
  };
  spread(0, kSmall, 5);
  spread(kSmall, kModerate, 2);
  if (picked.empty() && !all.empty()) picked.push_back(all.front());
  if (options.most_shapes > 0)
    picked = spread_over(picked, std::max<size_t>(1, size_t(options.most_shapes) / 4));
  // A variant that is for none of them: at the cheapest that it is for.
  std::vector<std::vector<int64_t>> more;
  for (const Variant* v : variants) {
    if (!supported_among(*v, picked).empty()) continue;
    if (more.empty()) more = shapes_of_check(op, variants, {}, options.seed);
    auto some = supported_among(*v, more);
    std::erase_if(some, [&](const auto& shape) { return is_empty(op, shape) || cost(shape) > kModerate; });
    const auto cheapest = std::ranges::min_element(some, {}, cost);
    if (cheapest != some.end()) picked.push_back(*cheapest);
  }
  return picked;
}

}  // namespace

std::optional<Failure> judge_gradient(const std::string& tensor, const ErrorSums& s, const Tolerance& t) {
  if (t.exact || s.count == 0) return std::nullopt;
  if (auto failure = judge_output(tensor, s, t, Fault::gradient)) return failure;
  const double norm = std::sqrt(s.reference2), limit = l2_limit(s, t);
  // |out - ref| <= r·|ref| puts out within the angle asin(r) of ref.
  const double ratio = norm > 0 ? limit / norm : 1;
  if (ratio < 1 && s.got2 > 0) {
    const double cosine = s.dot / (norm * std::sqrt(s.got2));
    const double least = std::sqrt(1 - ratio * ratio) - 0x1p-50 * double(s.count + 4);
    if (!(cosine >= least)) return failed(tensor, "cosine", 1, cosine, 1 - least);
  }
  const double most = bias_limit(s, t);
  const double n = double(s.count);
  if (!(std::abs(s.error) <= most))
    return failed(tensor, "signed bias: mean error", 0, s.error / n, most / n);
  return std::nullopt;
}

void BiasTally::add(const ErrorSums& s, const Tolerance& t) {
  const double scale = t.unit * s.magnitude;
  if (t.exact || !(scale > 0)) return;
  sum += s.error / scale;
  variance += t.root * t.root;
  ++cases;
}

std::optional<Failure> BiasTally::judge() const {
  if (cases == 0) return std::nullopt;
  const double n = cases, mean = sum / n, limit = 2 + 4 * std::sqrt(variance) / n;
  if (std::abs(mean) <= limit) return std::nullopt;
  Failure failure =
      failed(tensor, "signed bias over all cases: mean error in roundoffs of the magnitude", 0, mean, limit);
  failure.inputs = std::to_string(cases) + " cases of random inputs";
  return failure;
}

CheckResult check_gradients(const LabOp& backward, std::span<const Variant* const> variants,
                            const CheckOptions& options, CrashGuard& guard,
                            std::vector<CheckResult>& results) {
  const auto shapes = gradient_shapes(backward, variants, options);
  check_own_forward(backward, variants, shapes, options, guard, results);
  CheckResult reference = check_reference_gradient(backward, shapes, options, guard);
  if (shapes.empty()) reference.skipped = "too large for finite differences";
  return reference;
}

}  // namespace klab
