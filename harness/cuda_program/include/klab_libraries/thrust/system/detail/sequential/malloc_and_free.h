// Replaces Thrust's header of this name: thrust::device_malloc returns device memory.
#pragma once

#include <klab_cuda/library_memory.h>
#include <thrust/detail/config.h>
#include <thrust/detail/raw_pointer_cast.h>
#include <thrust/system/detail/sequential/execution_policy.h>

THRUST_NAMESPACE_BEGIN
namespace system {
namespace detail {
namespace sequential {

template <class Policy>
inline void* malloc(execution_policy<Policy>&, std::size_t bytes) {
  return klab_library_malloc(bytes);
}
template <class Policy, class Pointer>
inline void free(execution_policy<Policy>&, Pointer p) {
  klab_library_free(thrust::raw_pointer_cast(p));
}

}  // namespace sequential
}  // namespace detail
}  // namespace system
THRUST_NAMESPACE_END
