// Launches of CUDA variants at a shape that costs the host executor too much: kernels end at once, and a grid or a block that no GPU
// takes is found without any work.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "harness/check/trial.h"

namespace klab {

class LaunchOnly {
 public:
  LaunchOnly(const Op& op, ShapeView shape, const std::vector<TensorSpec>& specs)
      : op_(op), shape_(shape), specs_(specs) {}

  /// Runs the variant's host code on the inputs of `given`, and adds a failure where a launch is refused. Several threads may call it.
  void check(const Variant& variant, const Given& given, std::vector<Failure>& failures);

 private:
  const Op& op_;
  ShapeView shape_;
  const std::vector<TensorSpec>& specs_;
  std::mutex mutex_;
  std::unique_ptr<Tensors> tensors_;  // of all variants: what a first block leaves there is read by none
};

}  // namespace klab
