// In every program and shared library of CUDA code: makes a thread's copy of its shared memory, says where its variables are,
// and tells the runtime of itself.
#include "harness/simt/modules.h"

extern "C" {
// Made by the linker where the program has such variables (harness/cuda_compiler/rewrite.cpp).
#define KLAB_SECTION(name)                                                      \
  extern const char __start_##name __attribute__((weak, visibility("hidden"))); \
  extern const char __stop_##name __attribute__((weak, visibility("hidden")));
KLAB_SECTION(klab_constant)
KLAB_SECTION(klab_device)
KLAB_SECTION(klab_device_zero)

/// What every file of CUDA code names, so that the linker takes this one along.
__attribute__((visibility("hidden"))) extern const char klab_program_anchor;
const char klab_program_anchor = 1;

/// 1 in files whose accesses are watched, and set by them before any of this runs.
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
                            .traced = &klab_program_watched != nullptr});
  return true;
}();

}  // namespace
