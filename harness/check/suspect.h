// What an error looks like: values all scaled by one factor, or arithmetic that is coarser somewhere than was declared.
//
// Where the bound of an element is wide, a factor that was rounded to 16 bits on its way hides in it. But it is known what
// such a rounding does: the reference, at inputs rounded so, tells. An error that has a share of just that change in it, in
// element after element, comes from there, however small it is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/check/trial.h"

namespace klab {

/// Outputs of one run, byte for byte, one a tensor that is not an input (Trial::outputs()).
using OutputBytes = std::vector<std::vector<char>>;

/// One output that changed as it would by one rounding.
struct Suspicion {
  size_t change = 0, output = 0;  // which rounding; which output, among those that are not inputs
  std::string tensor, what;       // the output's name; "bfloat16 rounding of rgb"
  double share = 0, most = 0;     // how much of the change is in the error; how much would be no reason
};

/// The failure that names input and format.
Failure failure_of(const Suspicion& suspicion);

/// What rounding one input to 16 bits would do to the reference's outputs, for each f32 input and both formats.
class Suspects {
 public:
  Suspects(const Op& op, ShapeView shape, const std::vector<TensorSpec>& specs, const Given& given);

  /// What speaks for these outputs having been computed from an input rounded to 16 bits. nullopt: nothing does, or the
  /// variant declares arithmetic of 16 bits or fewer.
  ///
  /// With e the error and d the change by the rounding, sum(e·d)/sum(d²) is 1 where the error is that change and 0 where
  /// the two have nothing to do with each other, or less, give or take sqrt(sum(e²·d²))/sum(d²). Suspected is what is above
  /// a quarter and four times that; above a quarter alone where the correlation of the two leaves no doubt.
  std::optional<Suspicion> judge(const OutputBytes& outputs, const Numerics& numerics) const;

 private:
  struct Change {
    std::string what;                        // "bfloat16 rounding of rgb"
    std::vector<std::vector<double>> moved;  // one an output, empty for those that are not f32
  };
  friend bool confirmed(const Suspicion&, const LabOp&, ShapeView, const std::vector<TensorSpec>&, Trial&,
                        const Given&);

  const std::vector<TensorSpec>& specs_;
  const Given& given_;
  std::vector<Change> changes_;
};

/// Whether a suspicion holds at other inputs. How many outputs of one run are independent is not known: an error in one
/// number that all of them share lies along any change by chance, and so do the errors of a running sum. But runs on newly
/// drawn inputs are, and by chance the share has a mean of zero over them: Student's t over 16 of them decides. Leaves the
/// outputs at `given` behind.
bool confirmed(const Suspicion& suspicion, const LabOp& op, ShapeView shape,
               const std::vector<TensorSpec>& specs, Trial& trial, const Given& given);

/// What wrong outputs look like, as the end of a note: "; all values are 1.001 times what they should be", "; looks like
/// bfloat16 rounding of rgb", "; errs as half precision does"; empty when they look like nothing known.
std::string resemblance(const Op& op, ShapeView shape, const std::vector<TensorSpec>& specs,
                        const Given& given, const OutputBytes& outputs, const std::string& tensor);

}  // namespace klab
