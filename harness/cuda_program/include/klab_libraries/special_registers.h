// The part of cuda::ptx that CUB uses: the special registers, and what its transforms copy in bulk with.
#pragma once
#define KLAB_LIBRARIES_REGISTERS

#include <cuda/std/cstdint>

#include <klab_cuda/barriers.h>
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
// Barriers and bulk copies of CUB's transforms, with the toolkit's tags for semantics, scopes and spaces.
#ifndef KLAB_CUDA_PTX
KLAB_SIMT_INLINE void mbarrier_init(uint64_t* barrier, uint32_t count, KLAB_SIMT_HERE) {
  klab::simt::mbarrier_init(barrier, count, file, line);
}
KLAB_SIMT_INLINE bool mbarrier_try_wait_parity(uint64_t* barrier, uint32_t phase, KLAB_SIMT_HERE) {
  return klab::simt::mbarrier_wait_parity(barrier, phase, file, line);
}
template <class Space>
KLAB_SIMT_INLINE void fence_proxy_async(Space) {
  klab::simt::fence_proxy();
}
#endif
template <class Order, class Scope, class Space>
KLAB_SIMT_INLINE uint64_t mbarrier_arrive_expect_tx(Order, Scope, Space, uint64_t* barrier, uint32_t bytes,
                                                    KLAB_SIMT_HERE) {
  return klab::simt::mbarrier_arrive(barrier, 1, klab::simt::Arrival::expect, bytes, file, line,
                                     klab::simt::Passes::to_block);
}
template <class To, class From>
KLAB_SIMT_INLINE void cp_async_bulk(To, From, void* to, const void* from, uint32_t bytes, uint64_t* barrier,
                                    KLAB_SIMT_HERE) {
  klab::simt::bulk_load(to, from, bytes, barrier, file, line);
}
}  // namespace ptx
}  // namespace cuda
