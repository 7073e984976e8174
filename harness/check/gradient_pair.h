// A backward op and its forward, tied together by the names of their tensors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/core/buffers.h"
#include "harness/core/lab.h"

namespace klab {

/// What belongs to what. Tensors are given by their position in the contracts.
struct GradientPair {
  struct Link {
    size_t forward = 0, backward = 0;
  };

  /// Finds the forward in the labs. Throws std::invalid_argument, saying what is missing, when there is none,
  /// when its dimensions are not all among the backward's, or when the backward yields no gradient of any of
  /// its inputs.
  GradientPair(const LabOp& backward, ShapeView shape);

  const LabOp* forward = nullptr;
  const LabOp* backward = nullptr;
  std::vector<int64_t> forward_shape, backward_shape;
  std::vector<TensorSpec> forward_specs, backward_specs;
  std::vector<Link> inputs;     // the same input of both
  std::vector<Link> saved;      // an output of the forward that the backward reads
  std::vector<Link> upstream;   // an output of the forward and the gradient with respect to it
  std::vector<Link> gradients;  // an input of the forward and its gradient
};

/// A point at which gradients are compared: inputs of both ops as variants see them, the same where they
/// share them. Accumulated tensors are zero, saved outputs come from the double forward, and each upstream
/// gradient is random. Where the backward takes none, the loss is the plain sum of the outputs.
class GradientPoint {
 public:
  GradientPoint(const GradientPair& pair, Generator& random);

  Tensors forward;   // variants' view
  Tensors backward;  // variants' view

  /// dLoss/d(output) of the forward's tensor k, element i; 0 for tensors that are not outputs.
  double weight(size_t k, int64_t i) const;

 private:
  const GradientPair& pair_;
};

/// The double reference of an op, with all it needs. Inputs are set once and may then be changed in place.
class DoubleRun {
 public:
  DoubleRun(const LabOp& op, std::vector<int64_t> shape, const std::vector<TensorSpec>& specs);

  /// Takes inputs and accumulated tensors from the variants' view.
  void take(const Tensors& inputs);
  /// Computes outputs and magnitudes from what the inputs are now. Accumulated tensors begin at zero.
  void run();

  Tensors values, magnitudes;

 private:
  const LabOp& op_;
  std::vector<int64_t> shape_;
  const std::vector<TensorSpec>& specs_;
};

}  // namespace klab
