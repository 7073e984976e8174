// Asynchronous copies from global to shared memory (CUDA C++ Programming Guide, "Pipeline primitives"). Data
// are available after the thread has waited for them.
#pragma once

#include <cuda_runtime.h>

KLAB_SIMT_INLINE void __pipeline_memcpy_async(void* shared, const void* global, size_t bytes,
                                              size_t zeros = 0) {
  ::klab::simt::copy_async(shared, global, unsigned(bytes), unsigned(bytes - zeros));
}
KLAB_SIMT_INLINE void __pipeline_commit() { ::klab::simt::copy_async_commit(); }
KLAB_SIMT_INLINE void __pipeline_wait_prior(size_t groups_left) {
  ::klab::simt::copy_async_wait(int(groups_left));
}
