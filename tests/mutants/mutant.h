// A kernel that is wrong on purpose, and the check that must catch it.
//
//   KLAB_MUTANT(ProbeMatmul, Fault::wrong_value, {.run = run});
//
// registers it like any variant (its id is its path) and says which fault it must fail with.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "harness/check.h"
#include "harness/registrar.h"

namespace klab {

struct Mutant {
  std::string id;
  Fault fault;
};
inline void PrintTo(const Mutant& m, std::ostream* out) { *out << m.id; }

/// All mutants of this program, in no particular order.
std::vector<Mutant>& mutants();

struct MutantRegistrar {
  MutantRegistrar(const char* file, Fault fault) {
    Variant named;
    name_from_path(named, file);
    mutants().push_back({named.id, fault});
  }
};

}  // namespace klab

#define KLAB_MUTANT(Contract, fault, ...)                               \
  const ::klab::MutantRegistrar klab_mutant_registrar(__FILE__, fault); \
  KLAB_VARIANT(Contract, __VA_ARGS__)
