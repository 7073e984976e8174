// The faults of clusters.cu, and PTX of its kernels in which none of them lies.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

enum Fault {
  kNone,
  sum_without_sync,
  sum_block_barrier,
  sum_no_sync_at_end,
  sum_wrong_rank,
  sum_writes_peer,
  tile_half_bytes,
  tile_no_cluster_sync,
  tile_own_empty,
  tile_wrong_mask,
  tile_no_sync_at_end,
  add_no_fence,
  add_no_wait,
  add_plain_store,
  split_no_wait,
  split_too_many_bytes,
  split_own_barrier,
  split_arrive_twice,
  pair_reads_early,
  pair_never_waits,
  pair_writes_early,
  boxes_no_fence,
  boxes_source_reused,
  map_not_acquired,
  map_bad_box,
};

__device__ uint32_t address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ uint32_t of_rank(const void* p, uint32_t rank) {
  uint32_t there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address(p)), "r"(rank));
  return there;
}
__device__ uint32_t rank_of_block() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ void init(uint64_t* bar, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(bar)), "r"(count) : "memory");
}
__device__ void expect(uint64_t* bar, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(bar)), "r"(bytes)
               : "memory");
}
