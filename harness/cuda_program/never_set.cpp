// Computations with local variables of kernels that nothing sets.
#include "klab_cuda/never_set.h"

#include <string>

#include "harness/simt/executor.h"
#include "harness/simt/modules.h"

namespace klab::program {

void used_in_computation(bool unset, const char* name) {
  simt::Executor* const e = simt::running;
  if (!unset || e == nullptr || e->lane == nullptr || e->trace == nullptr) return;
  const simt::SourceLine at = simt::source_of(__builtin_return_address(0));
  e->report({.kind = simt::Kind::uninitialized,
             .file = at.file,
             .line = at.line,
             .text = std::string(name) + ", which nothing sets, is part of a computation"});
}

}  // namespace klab::program
