// Laws that wrong values obey: a constant factor, a missing term, the value of another element, the result of other inputs.
//
// A law predicts an output of a case. It holds where the wrong elements are what it predicts in nearly all cases that failed; the
// more specific one is chosen if several hold. Where none holds, nothing is guessed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/check/trial.h"

namespace klab {

/// One run with wrong values: the output that is wrong, and its inputs.
struct WrongCase {
  std::vector<int64_t> shape;
  std::vector<TensorSpec> specs;
  std::shared_ptr<const Given> given;
  size_t output = 0;  // the wrong tensor, among specs
  std::vector<double> got, want;
  std::vector<double> bound;   // the largest error that was allowed
  std::vector<double> before;  // what the output held, if it is read as well; else zeros
  std::vector<char> wrong;     // for each element, whether it is
  int64_t wrongs = 0;

  const Dims& dims() const { return specs[output].dims; }
};

/// Returns the case of this output; nullopt if no element of it is wrong or it has too many elements.
std::optional<WrongCase> wrong_case(const Op& op, const Numerics& numerics, ShapeView shape,
                                    const std::vector<TensorSpec>& specs, std::shared_ptr<const Given> given,
                                    const std::vector<std::vector<char>>& outputs, const std::string& tensor);

/// A law that holds.
struct Law {
  std::string mistake;    // "one factor"
  std::string sentence;   // what the values obey, and which mistake does that
  bool values = true;     // false: it tells only which elements are wrong
  int cases = 0, of = 0;  // cases that obey, and those that the law says something about
  double share = 0;       // the least share of wrong elements that obey, among these
};

/// Returns the law that these cases of one output obey; nullopt if there is none or too few elements show it. `with_inputs`: also laws of
/// other inputs, for each of which the reference runs again.
std::optional<Law> law_of(const LabOp& op, const std::vector<WrongCase>& cases, bool with_inputs = true);

/// Returns the law that a single wrong case obeys as the end of a note, "; every value is 0.5 times what it should be: ..."; empty if there is none.
/// Only laws that cost no run of the reference are tried, and none for large outputs.
std::string law_note(const LabOp& op, const Numerics& numerics, ShapeView shape,
                     const std::vector<TensorSpec>& specs, const Given& given,
                     const std::vector<std::vector<char>>& outputs, const std::string& tensor);

}  // namespace klab
