// A plan: for each operation of the trainer, the variant that does it.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "harness/core/registry.h"

namespace klab {

/// The operations of one training step, in order. composite_loss_bwd is there in place of composite_fwd, pixel_loss_fwd,
/// pixel_loss_bwd and composite_bwd, where the config's losses allow it (see Losses::fused).
const std::vector<std::string>& plan_ops();

class Plan {
 public:
  /// "best": the last float rung of each op's ladder; "naive": the first; else a JSON file {"op": "variant
  /// id", ...} in which ops that are not named take their best rung. The naive plan has no composite_loss_bwd, nor has a file
  /// that says null for it, or that names one of the ops that it takes the place of and not itself. Throws std::runtime_error for an op or
  /// variant that does not exist, a variant of another op, and one that cannot run here, with the reason.
  static Plan named(const std::string& name);

  /// Runs the op's variant at a shape on pointers in the contract's order.
  void run(const std::string& op, ShapeView shape, std::initializer_list<const void*> pointers) const;

  bool contains(const std::string& op) const { return choices_.count(op) > 0; }
  const std::map<std::string, const Variant*>& choices() const { return choices_; }
  void choose(const std::string& op, const Variant& variant) { choices_[op] = &variant; }

 private:
  std::map<std::string, const Variant*> choices_;
};

}  // namespace klab
