#include "tests/mutants/mutant.h"

namespace klab {

std::vector<Mutant>& mutants() {
  static std::vector<Mutant> list;
  return list;
}

}  // namespace klab
