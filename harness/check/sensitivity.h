// What roundings of factors to eight bits do to an output as a whole.
//
// A factor of e4m3 errs by up to 1/16 of itself, and one of 2^-18 of the largest is lost. The proven bound of an element is then as
// large as the element: a network of zeros would pass. What such roundings do to all elements together is known all the same: what
// relative changes of the inputs by as much do to the double reference (D. S. Parker, "Monte Carlo Arithmetic: exploiting randomness
// in floating-point arithmetic", 1997). On inputs drawn from a continuous distribution, ordinary or huge, the relative L2 error of a
// variant that declares such a format is held to that.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "harness/check/trial.h"

namespace klab {

class Sensitivity {
 public:
  /// For those of the givens whose inputs are drawn so; what is no f32 tensor stays as it is. Runs the reference several times for
  /// each. `unit`: the coarsest of the variants' that have eight bits.
  Sensitivity(const Op& op, ShapeView shape, const std::vector<TensorSpec>& specs,
              std::span<const Given> givens, Unit unit);

  /// The first output of this run on `given` that errs more than roundings of all factors explain, as a whole. Allowed is twice the
  /// root of the mean square of what the draws changed; where draws differ, since all outputs hang on few numbers, four times
  /// what the largest is above it; twice the largest change of an element, in case that few elements have any (a logistic
  /// function of large numbers jumps); and what float does. A factor's rounding to nearest is no larger than its change; activations
  /// between layers are rounded besides, which makes sqrt(2) at most, and roundings are 0.7 of their bound in that mean.
  std::optional<Failure> judge(const Given& given, const std::vector<Comparison>& outputs, double terms,
                               Fault fault) const;

 private:
  struct Change {
    double squares = 0;  // summed over the elements, mean over the draws
    double largest = 0;  // root of the sum of one draw
    double most = 0;     // of one element
  };
  struct Case {
    const Given* given;
    std::vector<Change> of_outputs;
  };
  std::string where_;  // the shape
  const std::vector<TensorSpec>& specs_;
  std::vector<Case> cases_;
};

/// Whether a variant's whole outputs are held to a Sensitivity.
bool is_eight_bits(const Numerics& numerics);

}  // namespace klab
