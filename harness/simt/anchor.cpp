// Compiled into every module of CUDA variants: makes this thread's copy of the module's shared memory.
extern "C" __attribute__((visibility("default"))) void* klab_simt_anchor() {
  static thread_local char first __attribute__((aligned(128)));
  return &first;
}
