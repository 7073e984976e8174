// cuda::ptx::get_sreg_...: special registers (PTX manual, "Special Registers").
#pragma once

#include <stdint.h>

#include <klab_cuda/program.h>
#include <klab_cuda/ptx.h>

namespace cuda {
namespace ptx {

#define KLAB_PTX_REGISTER(name, value) \
  KLAB_SIMT_INLINE uint32_t get_sreg_##name() { return uint32_t(value); }
#define KLAB_PTX_DIMENSIONS(name, at)   \
  KLAB_PTX_REGISTER(name##_x, at(x, 0)) \
  KLAB_PTX_REGISTER(name##_y, at(y, 1)) \
  KLAB_PTX_REGISTER(name##_z, at(z, 2))
KLAB_PTX_REGISTER(laneid, klab::simt::lane_index())
KLAB_PTX_REGISTER(lanemask_eq, 1u << klab::simt::lane_index())
KLAB_PTX_REGISTER(lanemask_lt, (1u << klab::simt::lane_index()) - 1)
KLAB_PTX_REGISTER(lanemask_le, (2u << klab::simt::lane_index()) - 1)
KLAB_PTX_REGISTER(lanemask_gt, ~((2u << klab::simt::lane_index()) - 1))
KLAB_PTX_REGISTER(lanemask_ge, ~((1u << klab::simt::lane_index()) - 1))
KLAB_PTX_REGISTER(warpid, klab::program::warp_index())
KLAB_PTX_REGISTER(nwarpid, 64)
KLAB_PTX_REGISTER(smid, klab::program::multiprocessor())
KLAB_PTX_REGISTER(nsmid, klab::program::multiprocessors())
#define KLAB_PTX_AT(d, k) threadIdx.d
KLAB_PTX_DIMENSIONS(tid, KLAB_PTX_AT)
#undef KLAB_PTX_AT
#define KLAB_PTX_AT(d, k) blockDim.d
KLAB_PTX_DIMENSIONS(ntid, KLAB_PTX_AT)
#undef KLAB_PTX_AT
#define KLAB_PTX_AT(d, k) blockIdx.d
KLAB_PTX_DIMENSIONS(ctaid, KLAB_PTX_AT)
#undef KLAB_PTX_AT
#define KLAB_PTX_AT(d, k) gridDim.d
KLAB_PTX_DIMENSIONS(nctaid, KLAB_PTX_AT)
#undef KLAB_PTX_AT
#define KLAB_PTX_AT(d, k) klab::simt::block_in_cluster(k)
KLAB_PTX_DIMENSIONS(cluster_ctaid, KLAB_PTX_AT)
#undef KLAB_PTX_AT
#define KLAB_PTX_AT(d, k) klab::simt::cluster_size(k)
KLAB_PTX_DIMENSIONS(cluster_nctaid, KLAB_PTX_AT)
#undef KLAB_PTX_AT
#define KLAB_PTX_AT(d, k) klab::simt::cluster_of_grid(k)
KLAB_PTX_DIMENSIONS(clusterid, KLAB_PTX_AT)
#undef KLAB_PTX_AT
#define KLAB_PTX_AT(d, k) klab::simt::clusters_of_grid(k)
KLAB_PTX_DIMENSIONS(nclusterid, KLAB_PTX_AT)
#undef KLAB_PTX_AT
KLAB_PTX_REGISTER(cluster_ctarank, klab::simt::cluster_rank())
KLAB_PTX_REGISTER(cluster_nctarank, klab::simt::cluster_blocks())
KLAB_PTX_REGISTER(clock, klab::simt::clock_ticks())
KLAB_PTX_REGISTER(clock_hi, klab::simt::clock_ticks() >> 32)
KLAB_PTX_REGISTER(globaltimer_lo, klab::simt::clock_ticks())
KLAB_PTX_REGISTER(globaltimer_hi, klab::simt::clock_ticks() >> 32)
#undef KLAB_PTX_DIMENSIONS
#undef KLAB_PTX_REGISTER
KLAB_SIMT_INLINE bool get_sreg_is_explicit_cluster() { return klab::simt::is_in_cluster(); }
KLAB_SIMT_INLINE uint64_t get_sreg_clock64() { return klab::simt::clock_ticks(); }
KLAB_SIMT_INLINE uint64_t get_sreg_globaltimer() { return klab::simt::clock_ticks(); }

}  // namespace ptx
}  // namespace cuda
