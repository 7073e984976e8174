// Tells a call that works from one that does nothing because the state it finds is the one that it left.
//
// Tensors that are added to or updated in place are never poisoned between timed calls, so that doing nothing there is quick
// and shows in no value of a single call. The same state that was put there by somebody else must give the same answer.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "harness/core/lab.h"
#include "harness/timing/bench_inputs.h"

namespace klab {

class LeftState {
 public:
  /// `inputs` must outlive this.
  LeftState(const LabOp& op, ShapeView shape, BenchInputs& inputs);

  /// Returns whether `call` (on copy 0) does nothing to a state that it left itself, while it changes the same state after
  /// work on another one, or while `other` changes it. `other` is another variant, and may be empty. At least `tries` states
  /// are tried; a finding counts when a second one confirms it. Leaves copy 0 reset.
  bool idles(const std::function<void()>& call, const std::function<void()>& other, int tries,
             std::mt19937_64& random);

 private:
  using State = std::vector<std::vector<char>>;
  State state() const;
  void put(const State& state);
  bool idle(const State& left, const State& after, const State& expected) const;
  bool try_one(const std::function<void()>& call, const std::function<void()>& other, int before);

  std::vector<TensorSpec> specs_;
  BenchInputs& inputs_;
};

}  // namespace klab
