// Compiled into every module of CUDA variants. Creates this thread's copy of the module's shared memory, and
// reports where the module's constant memory and its list of atomics lie.
extern "C" {
__attribute__((visibility("default"))) void* klab_simt_anchor() {
  static thread_local char first __attribute__((aligned(128)));
  return &first;
}

// Defined by the linker when a file has __constant__ variables (language.h).
extern const char __start_klab_constant __attribute__((weak, visibility("hidden")));
extern const char __stop_klab_constant __attribute__((weak, visibility("hidden")));
__attribute__((visibility("default"))) void klab_simt_constant(const char** begin, const char** end) {
  *begin = &__start_klab_constant;
  *end = &__stop_klab_constant;
}

// Defined by the linker when a file has atomics (used_result.h).
extern const char __start_klab_atomics __attribute__((weak, visibility("hidden")));
extern const char __stop_klab_atomics __attribute__((weak, visibility("hidden")));
__attribute__((visibility("default"))) void klab_simt_atomics(const char** begin, const char** end) {
  *begin = &__start_klab_atomics;
  *end = &__stop_klab_atomics;
}
}
