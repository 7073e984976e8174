#include "harness/check/judge_output.h"

#include <algorithm>
#include <cmath>

namespace klab {
namespace {

Failure output_failed(Fault fault, const std::string& tensor, double expected, double got, double bound,
                      std::string what) {
  return {.fault = fault,
          .tensor = tensor,
          .expected = digits(expected),
          .got = digits(got),
          .bound = digits(bound),
          .note = std::move(what)};
}

}  // namespace

// One rounding is at most u and sqrt(1/3)·u in the root mean square, so errors stay below root·u·magnitude in that
// mean. Where each of n outputs has roundings of its own, their mean is sharp; where all share one chain (a common
// divisor, say), or a few outputs outweigh the others, it is as uncertain as that of a few. Twice `root` is 3.5 times
// the spread of a single error, four times is what one output alone may err.
double l2_limit(const ErrorSums& s, const Tolerance& t) {
  const double n = double(s.count);
  const double outweighing =
      s.magnitude2 > 0 ? std::sqrt(s.magnitude4) / s.magnitude2 : 1;  // 1/sqrt(n) of equals
  const double factor = std::min(t.factor, t.root * (2 + 2 * outweighing));
  return t.unit * factor * std::sqrt(s.magnitude2) + t.underflow * std::sqrt(n) +
         t.stored * std::sqrt(s.reference2);
}

// With errors e_i the gain is 1 + sum(e_i·reference_i)/sum(reference²).
double gain_limit(const ErrorSums& s, const Tolerance& t) {
  if (!(s.reference2 > 0)) return INFINITY;
  const double outweighing = s.magnitude2 > 0 ? std::sqrt(s.magnitude4) / s.magnitude2 : 1;
  const double factor = std::min(t.factor, t.root * (2 + 2 * outweighing));
  return t.unit * factor * s.weighted / s.reference2 +
         t.underflow * std::sqrt(double(s.count) / s.reference2) + t.stored + 0x1p-50;
}

std::optional<Failure> judge_output(const std::string& tensor, const ErrorSums& s, const Tolerance& t,
                                    Fault fault) {
  if (t.exact || s.count == 0) return std::nullopt;
  const double error = std::sqrt(s.error2), limit = l2_limit(s, t);
  const double norm = s.reference2 > 0 ? std::sqrt(s.reference2) : 1;
  const double gain = s.reference2 > 0 ? s.dot / s.reference2 : 1, slack = gain_limit(s, t);
  // Where both are beyond their limits: the gain, if it is most of the error.
  const bool most = 2 * (gain - 1) * (gain - 1) * s.reference2 > s.error2;
  const bool small = error <= limit;
  if (!(std::abs(gain - 1) <= slack) && (small || most))
    return output_failed(fault, tensor, 1, gain, slack,
                         "gain: all values are " + digits(gain) + " times what they should be");
  if (!small) return output_failed(fault, tensor, 0, error / norm, limit / norm, "relative L2 error");
  return std::nullopt;
}

}  // namespace klab
