// Tries variants at a timed size on inputs that are not random: what is right for random numbers only, and only there, is
// no kernel of the contract.
//
// A reference in double precision takes longer there than all that is timed. So variants are compared with one another, and
// the reference decides where two of them differ.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "harness/core/lab.h"

namespace klab {

struct OtherPatterns {
  uint64_t seed = 1;
  double seconds = 3;  // after that long no other pattern is tried
  bool reference =
      false;  // ask the reference even where nothing differs: for a single variant, at a small size
  std::function<bool()> stop = {};
};

/// Returns what is wrong with each variant, with the inputs that show it; empty where it is right or was not
/// tried, for lack of time or of memory.
std::vector<std::string> try_other_patterns(const LabOp& op, ShapeView shape,
                                            std::span<const Variant* const> variants,
                                            const OtherPatterns& options);

}  // namespace klab
