// Runs programs of ops: calls the plan's variants on a backend, times them, and repeats what the backend has recorded.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/program/ops.h"
#include "harness/program/plan.h"
#include "harness/program/profile.h"
#include "harness/program/tensors.h"

namespace klab {

class RunOps : public Ops {
 public:
  using Body = std::function<void(Ops&)>;

  /// The memory must outlive it.
  explicit RunOps(Memory& memory) : memory_(memory) {}

  /// Runs of a recorded program from one that is called op by op, to be timed by the backend's clock, to the
  /// next. The profile uses its seconds for all runs since the last one.
  static constexpr int64_t kTimedEvery = 64;
  /// Times one of `runs` runs of a program from now on, for programs that measure only a few steps.
  void time_every(int64_t runs) { timed_every_ = runs; }

  /// Runs a program. `name` tells it from others of this memory: a program whose sizes do not change is recorded where the backend
  /// can, at its second run, and repeated from then on, until plan or choices change. Throws std::logic_error for a shape that an
  /// op does not have or an op that was not planned.
  void run(const std::string& name, const Plan& plan, Profile& profile, const Body& body);

 protected:
  void do_call(const OpCall& call) override;
  bool do_fused(const OpCall& call) override;

 private:
  /// A call, bound: repeated as it is while shape and pointers stay the same.
  struct Bound {
    std::string op, stage;
    bool is_op_stage = false;  // the stage is one op's
    std::vector<int64_t> shape;
    std::vector<void*> pointers;
    Cost cost;
    std::function<void()> work;
  };
  struct Program {
    VariantIds plan;  // of the calls that were bound
    std::vector<Bound> calls;
    VariantIds recorded_plan;
    std::vector<int64_t> choices;
    std::function<void()> repeat;  // empty: it was run once
    int64_t untimed = 0;           // runs since the last whose calls were timed one by one
  };
  void call_all(Program& program, const Plan& plan, Profile& profile, const Body& body);
  void call_marked(Program& program, const Plan& plan, Profile& profile, const Body& body, int64_t runs);
  Bound& bound(const OpCall& call);

  Memory& memory_;
  std::map<std::string, Program> programs_;
  int64_t timed_every_ = kTimedEvery;
  // The program that runs now, and how far it is.
  Program* program_ = nullptr;
  const Plan* plan_ = nullptr;
  Profile* profile_ = nullptr;
  size_t at_ = 0;       // calls so far
  bool marks_ = false;  // ahead of each call
};

}  // namespace klab
