// Measures a program of ops without running it: the calls that a plan needs, and the tensors that a memory needs.
#pragma once

#include <string>
#include <vector>

#include "harness/program/ops.h"
#include "harness/program/plan.h"
#include "harness/program/tensors.h"

namespace klab {

/// Takes programs over a memory that was not allocated yet.
class MeasureOps : public Ops {
 public:
  explicit MeasureOps(const Memory& memory) : memory_(memory), used_(memory.tensors().size(), false) {}

  /// Returns the calls at their usual sizes, in order. Equal calls are one that is made several times; `given` lists the optional
  /// tensors that a call has.
  const std::vector<PlannedCall>& calls() const { return calls_; }
  /// Says that programs from now on are called once in `steps` steps, 1 or more.
  void once_in(double steps) { times_ = 1 / steps; }
  /// Returns the same for a plan that is to be chosen by time: calls that do less than a quarter of the work of their op's largest
  /// have to be possible but do not decide (PlannedCall::times 0), so that they need not be timed.
  std::vector<PlannedCall> deciding() const;
  /// Returns for each tensor of the memory whether a call names it.
  const std::vector<bool>& used() const { return used_; }
  /// Returns the bytes of these.
  int64_t bytes_used() const;

 protected:
  void do_call(const OpCall& call) override;
  bool do_fused(const OpCall& call) override;

 private:
  const Memory& memory_;
  double times_ = 1;
  std::vector<PlannedCall> calls_;
  std::vector<bool> used_;
};

/// Returns the work of a call, in operations: about ten take the time in which a byte comes from memory, on processors and GPUs alike.
double work_of_call(const PlannedCall& call);

/// Appends the calls of ops that `calls` does not have yet.
void add_other_calls(const MeasureOps& measured, std::vector<PlannedCall>& calls);

}  // namespace klab
