// Linked into every program and shared library with CUDA code. Creates a thread's copy of the shared memory,
// reports where the variables lie, and registers the program with the runtime.
#include "harness/simt/modules.h"

extern "C" {
// Defined by the linker if the program has such variables (harness/cuda_compiler/rewrite.cpp).
#define KLAB_SECTION(name)                                                      \
  extern const char __start_##name __attribute__((weak, visibility("hidden"))); \
  extern const char __stop_##name __attribute__((weak, visibility("hidden")));
KLAB_SECTION(klab_constant)
KLAB_SECTION(klab_device)
KLAB_SECTION(klab_device_zero)
KLAB_SECTION(klab_atomics)

/// Referenced by every file with CUDA code, so that the linker includes this one.
__attribute__((visibility("hidden"))) extern const char klab_program_anchor;
const char klab_program_anchor = 1;

/// 1 in files whose accesses are watched. It is initialized before any code here runs.
__attribute__((weak, visibility("hidden"))) extern const char klab_program_watched;

__attribute__((visibility("hidden"))) thread_local char klab_dynamic_shared[klab::simt::kProgramArena]
    __attribute__((aligned(1024)));
}

namespace {

void* anchor() {
  static thread_local char first __attribute__((aligned(128)));
  return &first;
}
void* arena() { return klab_dynamic_shared; }

const bool adopted = [] {
  klab::simt::adopt_module({.anchor = anchor,
                            .arena = arena,
                            .constant_begin = &__start_klab_constant,
                            .constant_end = &__stop_klab_constant,
                            .device_begin = {&__start_klab_device, &__start_klab_device_zero},
                            .device_end = {&__stop_klab_device, &__stop_klab_device_zero},
                            .atomics_begin = &__start_klab_atomics,
                            .atomics_end = &__stop_klab_atomics,
                            .traced = &klab_program_watched != nullptr});
  return true;
}();

}  // namespace
