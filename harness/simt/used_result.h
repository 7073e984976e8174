// Tells atomics whose old value is used from those whose is not: GPU compilers turn the latter into reductions (RED), which return
// nothing. Behind the call lies a statement of assembly without effect that uses the value, so the host compiler drops it where nvcc would
// drop the value. What is left is a list of places in the object (Module::atomics), read by result_is_used() in modules.h.
#pragma once

#include "harness/simt/language.h"

/// Adds the next instruction's place to the object's list. `?`: as a part of the function, which may be one of several copies.
#define KLAB_SIMT_PLACE(kind)                                                 \
  "1:\n.pushsection klab_atomics,\"a?\",@progbits\n.long 1b - .\n.long " kind \
  "\n"                                                                        \
  ".popsection\n"
#ifdef __x86_64__
#define KLAB_SIMT_FLOAT_REGISTER "x"
#else
#define KLAB_SIMT_FLOAT_REGISTER "w"
#endif

namespace klab::simt {

/// Stands behind the call of an atomic that may be a reduction.
KLAB_SIMT_INLINE void atomic_called() { asm volatile(KLAB_SIMT_PLACE("0")); }

/// Returns the old value of the atomic that was just called.
template <class T>
KLAB_SIMT_INLINE T if_used(T old) {
  if constexpr (__is_same(T, float) || __is_same(T, double))
    asm(KLAB_SIMT_PLACE("1") : "+" KLAB_SIMT_FLOAT_REGISTER(old));
  else
    asm(KLAB_SIMT_PLACE("1") : "+r"(old));
  return old;
}

}  // namespace klab::simt
