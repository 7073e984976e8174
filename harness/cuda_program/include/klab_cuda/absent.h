// Functions of device libraries that klab does not have. A program may include their headers and be linked with them; it
// ends with a sentence where it calls one.
#pragma once

#include <klab_cuda/api.h>
#include "harness/simt/language.h"

namespace klab::program {
/// Ends the program, or the kernel that runs.
[[noreturn]] void absent(const char* function, const char* library);
}  // namespace klab::program

#define KLAB_ABSENT(Result, library, name)   \
  template <class... A>                      \
  KLAB_SIMT_INLINE Result name(A&&...) {     \
    ::klab::program::absent(#name, library); \
  }
