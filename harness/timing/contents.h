// Two contents of a ladder's inputs that differ in a few elements, and what tells a variant's answer to one from its answer
// to the other. Timed calls see them in turns, so that a variant which keeps an answer, by pointers, by some elements, by the
// number of calls, gives the wrong one.
//
// Which answer is right needs no bound: of a few outputs that differ visibly between the contents, most of what a variant
// writes must be nearer to the answer of the present content than to that of the other.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "harness/core/lab.h"
#include "harness/timing/bench_inputs.h"

namespace klab {

class Contents {
 public:
  /// `inputs` holds content 0 and must outlive this.
  Contents(const LabOp& op, ShapeView shape, BenchInputs& inputs, uint64_t seed);

  /// Finds an element for content 1 that changes what `call` (on copy 0, whose outputs are reset before) writes. False
  /// where none of some does: there is none that callers choose freely, or the variant does not look. Leaves content 0.
  bool learn(const std::function<void()>& call);
  bool known() const { return !places_.empty(); }

  /// Content 0 or 1 in all copies.
  void put(int content);
  int now() const { return now_; }
  /// One in this copy that was not there lately, in the one element. For calls whose answer is not read.
  void touch(int64_t copy);
  /// The present content in this copy, after touch().
  void restore(int64_t copy);

  /// Whether a copy's outputs are the answer to the present content rather than to the other.
  bool answered(int64_t copy) const;

 private:
  struct Element {
    size_t tensor = 0;
    int64_t index = 0;
    float values[2] = {0, 0};
  };
  struct Place {
    size_t tensor = 0;
    int64_t index = 0;
    double answers[2] = {0, 0};
    double share = 0;  // of their difference in the larger one, or in the tensor's usual size
  };
  void set(int64_t copy, float value);
  bool choose();
  double output(int64_t copy, size_t tensor, int64_t index) const;
  std::vector<std::vector<char>> outputs_of(const std::function<void()>& call, int content);

  std::vector<TensorSpec> specs_;
  BenchInputs& inputs_;
  uint64_t random_;
  int now_ = 0;
  unsigned fresh_ = 0;
  Element element_;
  std::vector<Place> places_;
};

}  // namespace klab
