#include "harness/gradcheck.h"

#include <algorithm>
#include <cmath>

namespace klab {
namespace {

// One rounding is at most u and sqrt(1/3)·u in the root mean square, so errors stay below root·u·magnitude in
// that mean. Where each output has roundings of its own their mean over n outputs is sharp; where all share
// one chain (a common divisor, say) it is as uncertain as a single error. Twice `root` is 3.5 times the
// latter's spread.
double l2_limit(const ErrorSums& s, const Tolerance& t) {
  const double n = double(s.count);
  const double factor = std::min(t.factor, t.root * (2 + 2 / std::sqrt(n)));
  return t.unit * factor * std::sqrt(s.magnitude2) + t.underflow * std::sqrt(n) +
         t.stored * std::sqrt(s.reference2);
}

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

}  // namespace

std::optional<Failure> judge_gradient(const std::string& tensor, const ErrorSums& s, const Tolerance& t) {
  if (t.exact || s.count == 0) return std::nullopt;
  const double error = std::sqrt(s.error2), norm = std::sqrt(s.reference2), limit = l2_limit(s, t);
  const double scale = norm > 0 ? norm : 1;
  if (!(error <= limit)) return failed(tensor, "relative L2 error", 0, error / scale, limit / scale);
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

void check_gradients(const LabOp&, std::span<const Variant* const>, const CheckOptions&, CrashGuard&,
                     std::vector<CheckResult>&) {}

}  // namespace klab
