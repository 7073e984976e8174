// The list of wrong kernels, for the programs that test the checker with them.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "harness/check/fault.h"

namespace klab {

struct Mutant {
  std::string id;
  Fault fault;
};
inline void PrintTo(const Mutant& m, std::ostream* out) { *out << m.id; }

/// All mutants of this program, in no particular order.
std::vector<Mutant>& mutants();

}  // namespace klab
