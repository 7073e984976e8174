// Thrust's policies for CUDA. Here they are those of its C++ build: work runs when it is submitted, so a stream makes no
// difference.
#pragma once

#include <thrust/system/cpp/execution_policy.h>

#include <klab_cuda/api.h>

namespace thrust {
namespace cuda {
struct Policy : thrust::system::cpp::detail::par_t {
  const Policy& on(cudaStream_t) const { return *this; }
  template <class Allocator>
  const Policy& operator()(Allocator&&) const {
    return *this;
  }
};
inline const Policy par, par_nosync;
}  // namespace cuda
namespace system {
namespace cuda {
using thrust::cuda::par;
using thrust::cuda::par_nosync;
}  // namespace cuda
}  // namespace system
}  // namespace thrust
