// cuda::device::experimental: copies in bulk and of tensor boxes whose end a cuda::barrier waits for (CUDA C++ Programming Guide,
// "Asynchronous Data Copies using the Tensor Memory Accelerator").
#pragma once

#include <klab_cuda/barriers.h>

KLAB_CUDA_NAMESPACE

namespace device {
namespace experimental {

template <thread_scope scope>
KLAB_SIMT_INLINE void cp_async_bulk_global_to_shared(void* to, const void* from, uint32_t bytes,
                                                     barrier<scope>& b, KLAB_SIMT_HERE) {
  klab::simt::bulk_load(to, from, bytes, barrier_native_handle(b), file, line);
}
KLAB_SIMT_INLINE void cp_async_bulk_shared_to_global(void* to, const void* from, uint32_t bytes,
                                                     KLAB_SIMT_HERE) {
  klab::simt::bulk_store(to, from, bytes, file, line);
}

#define KLAB_BOXES(rank, parameters, coordinates)                                                  \
  template <thread_scope scope>                                                                    \
  KLAB_SIMT_INLINE void cp_async_bulk_tensor_##rank##d_global_to_shared(                           \
      void* to, const CUtensorMap* map, KLAB_LIST parameters, barrier<scope>& b, KLAB_SIMT_HERE) { \
    const int at[] = {KLAB_LIST coordinates};                                                      \
    klab::simt::tensor_load(to, map, rank, at, barrier_native_handle(b), file, line);              \
  }                                                                                                \
  KLAB_SIMT_INLINE void cp_async_bulk_tensor_##rank##d_shared_to_global(                           \
      const CUtensorMap* map, KLAB_LIST parameters, const void* from, KLAB_SIMT_HERE) {            \
    const int at[] = {KLAB_LIST coordinates};                                                      \
    klab::simt::tensor_store(map, rank, at, from, file, line);                                     \
  }
#define KLAB_LIST(...) __VA_ARGS__
KLAB_BOXES(1, (int c0), (c0))
KLAB_BOXES(2, (int c0, int c1), (c0, c1))
KLAB_BOXES(3, (int c0, int c1, int c2), (c0, c1, c2))
KLAB_BOXES(4, (int c0, int c1, int c2, int c3), (c0, c1, c2, c3))
KLAB_BOXES(5, (int c0, int c1, int c2, int c3, int c4), (c0, c1, c2, c3, c4))
#undef KLAB_LIST
#undef KLAB_BOXES

KLAB_SIMT_INLINE void fence_proxy_async_shared_cta() { klab::simt::fence_proxy(); }
KLAB_SIMT_INLINE void cp_async_bulk_commit_group() { klab::simt::bulk_commit(); }
template <int left>
KLAB_SIMT_INLINE void cp_async_bulk_wait_group_read() {
  static_assert(left <= 63, "cp_async_bulk_wait_group_read waits for at most 63 groups");
  klab::simt::bulk_wait(left, true);
}

}  // namespace experimental
}  // namespace device

KLAB_CUDA_NAMESPACE_END
