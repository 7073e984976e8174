// The part of cuda::ptx that CUB uses: the special registers. Bulk copies are not supported.
#pragma once
#define KLAB_LIBRARIES_REGISTERS

#include <cuda/std/cstdint>

#include <klab_cuda/program.h>
#include <klab_cuda/ptx.h>

namespace cuda {
namespace ptx {
#ifndef KLAB_CUDA_PTX  // which has them
#define KLAB_CUDA_REGISTER(name, value) \
  KLAB_SIMT_INLINE ::cuda::std::uint32_t get_sreg_##name() { return value; }
KLAB_CUDA_REGISTER(laneid, klab::simt::lane_index())
KLAB_CUDA_REGISTER(lanemask_lt, (1u << klab::simt::lane_index()) - 1)
KLAB_CUDA_REGISTER(lanemask_le, (2u << klab::simt::lane_index()) - 1)
KLAB_CUDA_REGISTER(lanemask_eq, 1u << klab::simt::lane_index())
KLAB_CUDA_REGISTER(lanemask_gt, ~((2u << klab::simt::lane_index()) - 1))
KLAB_CUDA_REGISTER(lanemask_ge, ~((1u << klab::simt::lane_index()) - 1))
KLAB_CUDA_REGISTER(warpid, klab::program::warp_index())
KLAB_CUDA_REGISTER(smid, klab::program::multiprocessor())
KLAB_CUDA_REGISTER(tid_x, threadIdx.x)
KLAB_CUDA_REGISTER(tid_y, threadIdx.y)
KLAB_CUDA_REGISTER(tid_z, threadIdx.z)
KLAB_CUDA_REGISTER(ntid_x, blockDim.x)
KLAB_CUDA_REGISTER(ntid_y, blockDim.y)
KLAB_CUDA_REGISTER(ntid_z, blockDim.z)
KLAB_CUDA_REGISTER(ctaid_x, blockIdx.x)
KLAB_CUDA_REGISTER(ctaid_y, blockIdx.y)
KLAB_CUDA_REGISTER(ctaid_z, blockIdx.z)
KLAB_CUDA_REGISTER(nctaid_x, gridDim.x)
KLAB_CUDA_REGISTER(nctaid_y, gridDim.y)
KLAB_CUDA_REGISTER(nctaid_z, gridDim.z)
#undef KLAB_CUDA_REGISTER
#endif
#define KLAB_CUDA_NOT_KNOWN(name)                                            \
  template <class... T>                                                      \
  KLAB_SIMT_INLINE bool name(T...) {                                         \
    klab::program::not_known_ptx(#name, __builtin_FILE(), __builtin_LINE()); \
    return true;                                                             \
  }
KLAB_CUDA_NOT_KNOWN(mbarrier_init)
KLAB_CUDA_NOT_KNOWN(mbarrier_arrive_expect_tx)
KLAB_CUDA_NOT_KNOWN(mbarrier_try_wait_parity)
KLAB_CUDA_NOT_KNOWN(fence_proxy_async)
KLAB_CUDA_NOT_KNOWN(cp_async_bulk)
#undef KLAB_CUDA_NOT_KNOWN
}  // namespace ptx
}  // namespace cuda
