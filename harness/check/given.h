// The inputs of one case and the reference's answer to them, drawn or changed in one element.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/check/check.h"
#include "harness/core/buffers.h"
#include "harness/core/fill.h"

namespace klab {

/// Inputs of one case and the reference's answer to them. Made once for all variants.
struct Given {
  Pattern pattern;
  Tensors inputs;     // variants' view; outputs unused
  Tensors reference;  // reference's view, outputs computed
  Tensors magnitude;  // reference's view, outputs only
};

/// Draws inputs and runs the reference. Its outputs are poisoned before, so one it forgets is seen;
/// magnitudes begin at zero. `turn` chooses the boundary that wide inputs are moved to.
Given make_given(const LabOp& op, ShapeView shape, const std::vector<TensorSpec>& specs, Pattern pattern,
                 Generator& random, size_t turn = 0);

/// Runs the reference on the inputs.
void answer(const Op& op, ShapeView shape, const std::vector<TensorSpec>& specs, Given& given);

/// Whether callers may set any element to anything of its range: inputs that the contract arranges are not, nor those that
/// an optional tensor repeats in another form ("table", "table_half").
bool is_free(const TensorSpec& spec, const std::vector<TensorSpec>& specs);

/// The same but for one element of one input, another number of the same sign, and the reference's answer to that. Empty
/// where no element was found that callers may choose freely and that changes the answer visibly.
struct Changed {
  Given given;
  std::string what;  // "x[17]"
};
std::optional<Changed> change_one(const LabOp& op, ShapeView shape, const std::vector<TensorSpec>& specs,
                                  const Given& given, Generator& random);

/// Returns the bytes of the tensors that are not inputs, in order.
std::vector<std::vector<char>> bytes_of_outputs(const std::vector<TensorSpec>& specs, const Tensors& tensors);

}  // namespace klab
