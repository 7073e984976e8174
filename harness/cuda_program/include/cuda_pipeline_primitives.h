// Copies from global to shared memory that go on while the thread works (CUDA C++ Programming Guide, "Pipeline primitives"). What is
// copied is there once the thread has waited for it.
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
