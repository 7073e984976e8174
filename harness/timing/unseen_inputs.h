// Whole inputs that a variant has never seen, written where others were, for timing it on them.
//
// Old and new values are written by the same copy: both lie in the same caches then, and a page is no newer for one than for
// the other. Only the values tell them apart.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/core/lab.h"
#include "harness/timing/bench_inputs.h"

namespace klab {

class UnseenInputs {
 public:
  /// `inputs` must outlive this; what copy 0 holds now are the values that variants have seen.
  UnseenInputs(const LabOp& op, ShapeView shape, BenchInputs& inputs);

  /// Inputs whose elements may stand in any order, and that are a good part of what a call reads. A short list of parameters
  /// is none: a library may prepare itself for these.
  int64_t count() const { return int64_t(tensors_.size()); }
  /// Writes the seen values of one of them; with `turn` above 0 the same values, each at another place.
  void write(int64_t which, uint64_t turn);

 private:
  struct Tensor {
    size_t index = 0;
    int64_t elements = 0, width = 0;
    std::vector<char> seen;
  };
  std::vector<Tensor> tensors_;
  BenchInputs& inputs_;
};

}  // namespace klab
