// A plan: for each operation of a program, the variant that does it.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/core/call.h"
#include "harness/program/call_times.h"

namespace klab {

/// A program that is made of ops: what plans of it may name. One that registers itself is known by the ops of its calls.
struct PlannedProgram {
  std::string name;                // "the trainer"
  std::vector<std::string> ops;    // in the order of a step, those included that only some settings call
  std::string fused;               // does the work of `parts` in one call; empty: there is none
  std::vector<std::string> parts;  // in whose place `fused` may be called
};

class PlannedProgramRegistrar {
 public:
  explicit PlannedProgramRegistrar(PlannedProgram program);
};

/// A call that a program is going to make. `size` is what is printed of it.
template <class Contract>
PlannedCall planned(const typename Contract::Shape& shape, std::string size, double times = 1) {
  return {std::string(Contract::name), dims_of<Contract>(shape), std::move(size), times, {}};
}

/// Variants by op: {"mlp_fwd": "mlp_fwd.cpu.01_naive"}.
using VariantIds = std::map<std::string, std::string>;

class Plan {
 public:
  struct Choice {
    const Variant* variant = nullptr;
    std::string why;     // "fastest of 5 at 32768 samples (measured now)"
    double seconds = 0;  // of the op in one step, where times decided; else 0
  };

  /// The plan for these calls. "best": the fastest variant of each op at the shapes of its calls, among the deterministic
  /// ones in single precision that klab wrote for the processor; half and bfloat16 rungs change the result and are
  /// taken by name only. "naive": the first rung of each. "last": the last rung of each trunk, which nothing is timed for. Else a JSON file {"op": "variant id", ...}, in which ops that
  /// are not named take their fastest rung. The program's fused op is in the plan where it takes less time than the ops
  /// in whose place it is called; the naive plan has none, nor has a file that says null for it, or that names one of the
  /// others and not itself.
  /// Throws std::runtime_error for a file, op or variant that does not exist, and for a variant that cannot do these calls:
  /// of another op, for another device, not supported at a shape, or in need of a tensor that is not given. The message
  /// says why, and what to do instead.
  /// `backend` "cuda": rungs for a GPU, of which, untimed, the last one of each trunk counts as best.
  /// `precision` bf16: "best" chooses among rungs with bfloat16 factors, too, and takes one where it is the fastest.
  static Plan named(const std::string& name, std::span<const PlannedCall> calls, CallTimes& times,
                    const std::string& backend = "cpu", Unit precision = Unit::f32);
  /// The same from variants that `where` (a file, a checkpoint) names.
  static Plan fixed(const VariantIds& variants, const std::string& where, std::span<const PlannedCall> calls,
                    CallTimes& times, const std::string& backend = "cpu", Unit precision = Unit::f32);

  /// What a run in that precision should know: which ops of these calls have rungs in it that cannot run here, and why, one
  /// line each; empty where all can, and in single precision.
  static std::string unavailable(std::span<const PlannedCall> calls, Unit precision,
                                 const std::string& backend = "cpu");

  /// Throws what fixed() would, without timing anything: for the beginning of a program.
  static void require(const VariantIds& variants, const std::string& where,
                      std::span<const PlannedCall> calls, const std::string& backend = "cpu");

  /// Runs the contract's op. Throws std::invalid_argument for a shape that the contract does not have and for a tensor that
  /// is missing (see require_valid), std::logic_error for an op that was not planned.
  template <class Contract>
  void run(const typename Contract::template Args<float>& args) const {
    call<Contract>(*at(std::string(Contract::name)).variant, args);
  }

  /// Whether the op was planned, and the variant that does it.
  bool contains(const std::string& op) const { return choices_.contains(op); }
  const Choice& at(const std::string& op) const;
  const Variant* variant(const std::string& op) const { return at(op).variant; }

  /// What a call of the op costs as its variant does it: with factors of 16 bits an instruction does twice the operations.
  Cost cost_of(const std::string& op, Cost cost) const;

  const std::map<std::string, Choice>& choices() const { return choices_; }
  VariantIds ids() const;
  void choose(const std::string& op, const Choice& choice) { choices_[op] = choice; }

  /// One line for each op, in the order of a step: "plan      mlp_fwd        cpu.05_tiles  fastest of 5 at ...".
  std::string text() const;

 private:
  std::vector<std::string> order_;  // in which text() lists the ops
  std::map<std::string, Choice> choices_;
};

/// What a name fixes: of "best" nothing, of "naive" the first rung of each op and of "last" the last, of a file what it says. Throws
/// std::runtime_error naming the file.
VariantIds plan_ids(const std::string& name, std::span<const PlannedCall> calls,
                    const std::string& backend = "cpu");
/// What the text of such a file says; `where` names it in messages. `fused` is the op for which null may stand; none if empty.
VariantIds plan_from_json(const std::string& text, const std::string& where, const std::string& fused = "");
std::string to_json_text(const Plan& plan);

}  // namespace klab
