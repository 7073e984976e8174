// A kernel that is wrong on purpose, and the check that must catch it.
//
//   KLAB_MUTANT(ProbeMatmul, Fault::wrong_value, {.run = run});
//
// registers it like any variant (its id is its path) and states the fault that it must fail with.
#pragma once

#include "harness/check/fault.h"
#include "harness/core/registrar.h"

namespace klab {

struct MutantRegistrar {
  MutantRegistrar(const char* file, Fault fault);
};

}  // namespace klab

#define KLAB_MUTANT(Contract, fault, ...)                               \
  const ::klab::MutantRegistrar klab_mutant_registrar(__FILE__, fault); \
  KLAB_VARIANT(Contract, __VA_ARGS__)
