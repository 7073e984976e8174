// cuda::ptx::tensormap_replace_... and the fences of tensor maps (PTX manual, "tensormap.replace", "tensormap.cp_fenceproxy",
// "fence.proxy.tensormap").
#pragma once

#include <klab_cuda/ptx_functions.h>

namespace cuda {
namespace ptx {

/// Fields that a map has once. `Space`: global or shared memory, in which the map lies.
#define KLAB_PTX_FIELD(name)                                                                        \
  template <class Space, class T>                                                                   \
  KLAB_SIMT_INLINE void tensormap_replace_##name(Space, void* map, T value, KLAB_SIMT_HERE) {       \
    klab::simt::tensor_map_replace(map, klab::simt::MapField::name, 0,                              \
                                   klab::program::ptx::get<unsigned long long>(value), file, line); \
  }
KLAB_PTX_FIELD(global_address)
KLAB_PTX_FIELD(rank)
#undef KLAB_PTX_FIELD
/// Fields whose value is known to the compiler.
#define KLAB_PTX_FIELD(name, field)                                                                \
  template <class Space, int value>                                                                \
  KLAB_SIMT_INLINE void tensormap_replace_##name(Space, void* map, n32_t<value>, KLAB_SIMT_HERE) { \
    klab::simt::tensor_map_replace(map, klab::simt::MapField::field, 0, value, file, line);        \
  }
KLAB_PTX_FIELD(elemtype, elemtype)
KLAB_PTX_FIELD(interleave_layout, interleave_layout)
KLAB_PTX_FIELD(swizzle_mode, swizzle_mode)
KLAB_PTX_FIELD(fill_mode, fill_mode)
#undef KLAB_PTX_FIELD
/// Fields that a map has for each dimension.
#define KLAB_PTX_FIELD(name, field)                                                                 \
  template <class Space, int dimension, class T>                                                    \
  KLAB_SIMT_INLINE void tensormap_replace_##name(Space, void* map, n32_t<dimension>, T value,       \
                                                 KLAB_SIMT_HERE) {                                  \
    klab::simt::tensor_map_replace(map, klab::simt::MapField::field, dimension,                     \
                                   klab::program::ptx::get<unsigned long long>(value), file, line); \
  }
KLAB_PTX_FIELD(box_dim, box_dim)
KLAB_PTX_FIELD(global_dim, global_dim)
KLAB_PTX_FIELD(global_stride, global_stride)
KLAB_PTX_FIELD(element_stride, element_stride)
KLAB_PTX_FIELD(element_size, element_stride)  // its name in CUDA 12
#undef KLAB_PTX_FIELD

template <int scope, int bytes>
KLAB_SIMT_INLINE void tensormap_cp_fenceproxy(sem_release_t, scope_t<scope>, void* to, const void* from,
                                              n32_t<bytes>, KLAB_SIMT_HERE) {
  static_assert(bytes == 128, "a tensor map has 128 bytes");
  klab::simt::tensor_map_copy(to, from, file, line);
}
template <int scope>
KLAB_SIMT_INLINE void fence_proxy_tensormap_generic(sem_release_t, scope_t<scope>) {}
template <int scope, int bytes>
KLAB_SIMT_INLINE void fence_proxy_tensormap_generic(sem_acquire_t, scope_t<scope>, const void* map,
                                                    n32_t<bytes>) {
  static_assert(bytes == 128, "a tensor map has 128 bytes");
  klab::simt::tensor_map_acquire(const_cast<void*>(map));
}

}  // namespace ptx
}  // namespace cuda
