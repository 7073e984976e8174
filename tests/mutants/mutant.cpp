#include "tests/mutants/mutant.h"

#include "harness/core/variant.h"
#include "tests/mutants/mutants.h"

namespace klab {

std::vector<Mutant>& mutants() {
  static std::vector<Mutant> list;
  return list;
}

MutantRegistrar::MutantRegistrar(const char* file, Fault fault) {
  Variant named;
  name_from_path(named, file);
  mutants().push_back({named.id, fault});
}

}  // namespace klab
