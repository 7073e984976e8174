// cuda::ptx (libcu++, "PTX Instructions"): functions for instructions of Hopper, with tags for their semantics, scopes and spaces.
// Semantics and scopes have no effect: arrivals release and waits acquire. Functions for tensor maps are in ptx_tensor_maps.h.
#pragma once

#include <stdint.h>

#include <klab_cuda/barriers.h>
#include <klab_cuda/ptx.h>
#include <klab_cuda/ptx_registers.h>

struct __half;
struct __nv_bfloat16;

namespace cuda {
namespace ptx {

template <int which>
struct sem_t {};
using sem_acq_rel_t = sem_t<0>;
using sem_acquire_t = sem_t<1>;
using sem_relaxed_t = sem_t<2>;
using sem_release_t = sem_t<3>;
using sem_sc_t = sem_t<4>;
inline constexpr sem_acq_rel_t sem_acq_rel{};
inline constexpr sem_acquire_t sem_acquire{};
inline constexpr sem_relaxed_t sem_relaxed{};
inline constexpr sem_release_t sem_release{};
inline constexpr sem_sc_t sem_sc{};

template <int which>
struct scope_t {};
using scope_cta_t = scope_t<0>;
using scope_cluster_t = scope_t<1>;
using scope_gpu_t = scope_t<2>;
using scope_sys_t = scope_t<3>;
inline constexpr scope_cta_t scope_cta{};
inline constexpr scope_cluster_t scope_cluster{};
inline constexpr scope_gpu_t scope_gpu{};
inline constexpr scope_sys_t scope_sys{};

struct space_global_t {};
struct space_shared_t {};
struct space_cluster_t {};
inline constexpr space_global_t space_global{};
inline constexpr space_shared_t space_shared{};
inline constexpr space_cluster_t space_cluster{};

template <klab::simt::BulkReduce how>
struct op_t {};
inline constexpr op_t<klab::simt::BulkReduce::add> op_add{};
inline constexpr op_t<klab::simt::BulkReduce::min> op_min{};
inline constexpr op_t<klab::simt::BulkReduce::max> op_max{};
inline constexpr op_t<klab::simt::BulkReduce::inc> op_inc{};
inline constexpr op_t<klab::simt::BulkReduce::dec> op_dec{};
inline constexpr op_t<klab::simt::BulkReduce::bit_and> op_and_op{};
inline constexpr op_t<klab::simt::BulkReduce::bit_or> op_or_op{};
inline constexpr op_t<klab::simt::BulkReduce::bit_xor> op_xor_op{};

template <int n>
struct n32_t {};
template <int n>
inline constexpr n32_t<n> n32{};

// Barriers in shared memory.

KLAB_SIMT_INLINE void mbarrier_init(uint64_t* barrier, uint32_t count, KLAB_SIMT_HERE) {
  klab::simt::mbarrier_init(barrier, count, file, line);
}
KLAB_SIMT_INLINE uint64_t mbarrier_arrive(uint64_t* barrier, uint32_t count = 1, KLAB_SIMT_HERE) {
  return klab::simt::mbarrier_arrive(barrier, count, klab::simt::Arrival::plain, 0, file, line);
}
/// To whom an arrival with that order and scope passes accesses on.
template <int sem, int scope>
inline constexpr klab::simt::Passes passes_of =
    std::is_same_v<sem_t<sem>, sem_relaxed_t>     ? klab::simt::Passes::nothing
    : std::is_same_v<scope_t<scope>, scope_cta_t> ? klab::simt::Passes::to_block
                                                  : klab::simt::Passes::to_cluster;
template <int sem, int scope>
KLAB_SIMT_INLINE uint64_t mbarrier_arrive(sem_t<sem>, scope_t<scope>, space_shared_t, uint64_t* barrier,
                                          uint32_t count = 1, KLAB_SIMT_HERE) {
  return klab::simt::mbarrier_arrive(barrier, count, klab::simt::Arrival::plain, 0, file, line,
                                     passes_of<sem, scope>);
}
template <int sem, int scope>
KLAB_SIMT_INLINE void mbarrier_arrive(sem_t<sem>, scope_t<scope>, space_cluster_t, uint64_t* barrier,
                                      uint32_t count = 1, KLAB_SIMT_HERE) {
  klab::simt::mbarrier_arrive(barrier, count, klab::simt::Arrival::plain, 0, file, line,
                              passes_of<sem, scope>);
}
template <int sem, int scope>
KLAB_SIMT_INLINE uint64_t mbarrier_arrive_expect_tx(sem_t<sem>, scope_t<scope>, space_shared_t,
                                                    uint64_t* barrier, uint32_t bytes, KLAB_SIMT_HERE) {
  return klab::simt::mbarrier_arrive(barrier, 1, klab::simt::Arrival::expect, bytes, file, line,
                                     passes_of<sem, scope>);
}
template <int sem, int scope>
KLAB_SIMT_INLINE void mbarrier_arrive_expect_tx(sem_t<sem>, scope_t<scope>, space_cluster_t,
                                                uint64_t* barrier, uint32_t bytes, KLAB_SIMT_HERE) {
  klab::simt::mbarrier_arrive(barrier, 1, klab::simt::Arrival::expect, bytes, file, line,
                              passes_of<sem, scope>);
}
template <int sem, int scope, class Space>
KLAB_SIMT_INLINE void mbarrier_expect_tx(sem_t<sem>, scope_t<scope>, Space, uint64_t* barrier, uint32_t bytes,
                                         KLAB_SIMT_HERE) {
  klab::simt::mbarrier_transact(barrier, bytes, file, line);
}
/// mbarrier.arrive.noComplete: must not be the last arrival of the phase.
KLAB_SIMT_INLINE uint64_t mbarrier_arrive_no_complete(uint64_t* barrier, const uint32_t& count,
                                                      KLAB_SIMT_HERE) {
  return klab::simt::mbarrier_arrive(barrier, count, klab::simt::Arrival::no_complete, 0, file, line);
}
KLAB_SIMT_INLINE void cp_async_mbarrier_arrive(uint64_t* barrier, KLAB_SIMT_HERE) {
  klab::simt::mbarrier_follows_copies(barrier, false, file, line);
}
KLAB_SIMT_INLINE void cp_async_mbarrier_arrive_noinc(uint64_t* barrier, KLAB_SIMT_HERE) {
  klab::simt::mbarrier_follows_copies(barrier, true, file, line);
}
#define KLAB_PTX_WAIT(name, function, Type)                                                              \
  KLAB_SIMT_INLINE bool name(uint64_t* barrier, const Type& phase, KLAB_SIMT_HERE) {                     \
    return klab::simt::function(barrier, phase, file, line);                                             \
  }                                                                                                      \
  template <int sem, int scope>                                                                          \
  KLAB_SIMT_INLINE bool name(sem_t<sem>, scope_t<scope>, uint64_t* barrier, const Type& phase,           \
                             KLAB_SIMT_HERE) {                                                           \
    return klab::simt::function(barrier, phase, file, line, !std::is_same_v<sem_t<sem>, sem_relaxed_t>); \
  }
/// The same with a limit of the time to wait, which has no effect.
#define KLAB_PTX_TRY_WAIT(name, function, Type)                                                          \
  KLAB_PTX_WAIT(name, function, Type)                                                                    \
  KLAB_SIMT_INLINE bool name(uint64_t* barrier, const Type& phase, const uint32_t&, KLAB_SIMT_HERE) {    \
    return klab::simt::function(barrier, phase, file, line);                                             \
  }                                                                                                      \
  template <int sem, int scope>                                                                          \
  KLAB_SIMT_INLINE bool name(sem_t<sem>, scope_t<scope>, uint64_t* barrier, const Type& phase,           \
                             const uint32_t&, KLAB_SIMT_HERE) {                                          \
    return klab::simt::function(barrier, phase, file, line, !std::is_same_v<sem_t<sem>, sem_relaxed_t>); \
  }
KLAB_PTX_WAIT(mbarrier_test_wait, mbarrier_wait, uint64_t)
KLAB_PTX_WAIT(mbarrier_test_wait_parity, mbarrier_wait_parity, uint32_t)
KLAB_PTX_TRY_WAIT(mbarrier_try_wait, mbarrier_wait, uint64_t)
KLAB_PTX_TRY_WAIT(mbarrier_try_wait_parity, mbarrier_wait_parity, uint32_t)
#undef KLAB_PTX_TRY_WAIT
#undef KLAB_PTX_WAIT

// Copies in bulk, and of tensor boxes.

KLAB_SIMT_INLINE void cp_async_bulk(space_shared_t, space_global_t, void* to, const void* from,
                                    uint32_t bytes, uint64_t* barrier, KLAB_SIMT_HERE) {
  klab::simt::bulk_load(to, from, bytes, barrier, file, line);
}
KLAB_SIMT_INLINE void cp_async_bulk(space_cluster_t, space_global_t, void* to, const void* from,
                                    uint32_t bytes, uint64_t* barrier, KLAB_SIMT_HERE) {
  klab::simt::bulk_load(to, from, bytes, barrier, file, line);
}
KLAB_SIMT_INLINE void cp_async_bulk(space_cluster_t, space_global_t, void* to, const void* from,
                                    uint32_t bytes, uint64_t* barrier, const uint16_t& blocks,
                                    KLAB_SIMT_HERE) {
  klab::simt::bulk_load_multicast(to, from, bytes, barrier, blocks, file, line);
}
KLAB_SIMT_INLINE void cp_async_bulk(space_cluster_t, space_shared_t, void* to, const void* from,
                                    uint32_t bytes, uint64_t* barrier, KLAB_SIMT_HERE) {
  klab::simt::bulk_copy_to_peer(to, from, bytes, barrier, file, line);
}
KLAB_SIMT_INLINE void cp_async_bulk(space_global_t, space_shared_t, void* to, const void* from,
                                    uint32_t bytes, KLAB_SIMT_HERE) {
  klab::simt::bulk_store(to, from, bytes, file, line);
}
template <class Space, int n>
KLAB_SIMT_INLINE void cp_async_bulk_tensor(Space, space_global_t, void* to, const void* map,
                                           const int32_t (&at)[n], uint64_t* barrier, KLAB_SIMT_HERE) {
  klab::simt::tensor_load(to, static_cast<const CUtensorMap*>(map), n, at, barrier, file, line);
}
template <int n>
KLAB_SIMT_INLINE void cp_async_bulk_tensor(space_cluster_t, space_global_t, void* to, const void* map,
                                           const int32_t (&at)[n], uint64_t* barrier, const uint16_t& blocks,
                                           KLAB_SIMT_HERE) {
  klab::simt::tensor_load_multicast(to, static_cast<const CUtensorMap*>(map), n, at, barrier, blocks, file,
                                    line);
}
template <int n>
KLAB_SIMT_INLINE void cp_async_bulk_tensor(space_global_t, space_shared_t, const void* map,
                                           const int32_t (&at)[n], const void* from, KLAB_SIMT_HERE) {
  klab::simt::tensor_store(static_cast<const CUtensorMap*>(map), n, at, from, file, line);
}
template <klab::simt::BulkReduce how, int n>
KLAB_SIMT_INLINE void cp_reduce_async_bulk_tensor(space_global_t, space_shared_t, op_t<how>, const void* map,
                                                  const int32_t (&at)[n], const void* from, KLAB_SIMT_HERE) {
  klab::simt::tensor_reduce(how, static_cast<const CUtensorMap*>(map), n, at, from, file, line);
}
#define KLAB_PTX_REDUCE(T, type)                                                               \
  template <klab::simt::BulkReduce how>                                                        \
  KLAB_SIMT_INLINE void cp_reduce_async_bulk(space_global_t, space_shared_t, op_t<how>, T* to, \
                                             const T* from, uint32_t bytes, KLAB_SIMT_HERE) {  \
    klab::simt::bulk_reduce(how, klab::simt::BulkType::type, to, from, bytes, file, line);     \
  }
/// Also in shared memory of a block of the cluster, from memory and from a register (red.async).
#define KLAB_PTX_REDUCE_INTEGERS(T, type)                                                                   \
  KLAB_PTX_REDUCE(T, type)                                                                                  \
  template <klab::simt::BulkReduce how>                                                                     \
  KLAB_SIMT_INLINE void cp_reduce_async_bulk(space_cluster_t, space_shared_t, op_t<how>, T* to,             \
                                             const T* from, uint32_t bytes, uint64_t* barrier,              \
                                             KLAB_SIMT_HERE) {                                              \
    klab::simt::bulk_reduce_to_peer(how, klab::simt::BulkType::type, to, from, bytes, barrier, file, line); \
  }                                                                                                         \
  template <klab::simt::BulkReduce how>                                                                     \
  KLAB_SIMT_INLINE void red_async(op_t<how>, T* to, const T& value, uint64_t* barrier, KLAB_SIMT_HERE) {    \
    klab::simt::reduce_async(how, klab::simt::BulkType::type, to, &value, sizeof(T), barrier, file, line);  \
  }
KLAB_PTX_REDUCE_INTEGERS(int32_t, s32)
KLAB_PTX_REDUCE_INTEGERS(uint32_t, u32)
KLAB_PTX_REDUCE_INTEGERS(int64_t, s64)
KLAB_PTX_REDUCE_INTEGERS(uint64_t, u64)
KLAB_PTX_REDUCE(float, f32)
KLAB_PTX_REDUCE(double, f64)
KLAB_PTX_REDUCE(__half, f16)
KLAB_PTX_REDUCE(__nv_bfloat16, bf16)
#undef KLAB_PTX_REDUCE_INTEGERS
#undef KLAB_PTX_REDUCE
KLAB_SIMT_INLINE void cp_async_bulk_commit_group() { klab::simt::bulk_commit(); }
template <int n>
KLAB_SIMT_INLINE void cp_async_bulk_wait_group(n32_t<n>) {
  klab::simt::bulk_wait(n);
}
template <int n>
KLAB_SIMT_INLINE void cp_async_bulk_wait_group_read(n32_t<n>) {
  klab::simt::bulk_wait(n, true);
}

// Fences.

KLAB_SIMT_INLINE void fence_proxy_async() { klab::simt::fence_proxy(); }
template <class Space>
KLAB_SIMT_INLINE void fence_proxy_async(Space) {
  klab::simt::fence_proxy();
}
KLAB_SIMT_INLINE void fence_mbarrier_init(sem_release_t, scope_cluster_t) {
  klab::simt::fence_mbarrier_init();
}
KLAB_SIMT_INLINE void fence_proxy_alias() {}
/// fence.proxy.async::generic.acquire and .release .sync_restrict
KLAB_SIMT_INLINE void fence_proxy_async_generic_sync_restrict(sem_acquire_t, space_cluster_t,
                                                              scope_cluster_t) {
  klab::simt::fence_proxy();
}
KLAB_SIMT_INLINE void fence_proxy_async_generic_sync_restrict(sem_release_t, space_shared_t,
                                                              scope_cluster_t) {
  klab::simt::fence_proxy();
}
KLAB_SIMT_INLINE void fence_sync_restrict(sem_acquire_t, space_cluster_t, scope_cluster_t) {
  klab::simt::fence(true);
}
KLAB_SIMT_INLINE void fence_sync_restrict(sem_release_t, space_shared_t, scope_cluster_t) {
  klab::simt::fence(true);
}
template <int sem>
KLAB_SIMT_INLINE void fence(sem_t<sem>, scope_cta_t) {
  klab::simt::fence(false);
}
template <int sem, int scope>
KLAB_SIMT_INLINE void fence(sem_t<sem>, scope_t<scope>) {
  klab::simt::fence(true);
}

// Clusters.

KLAB_SIMT_INLINE void barrier_cluster_arrive(KLAB_SIMT_HERE) { klab::simt::cluster_arrive(true, file, line); }
KLAB_SIMT_INLINE void barrier_cluster_arrive(sem_release_t, KLAB_SIMT_HERE) {
  klab::simt::cluster_arrive(true, file, line);
}
KLAB_SIMT_INLINE void barrier_cluster_arrive(sem_relaxed_t, KLAB_SIMT_HERE) {
  klab::simt::cluster_arrive(false, file, line);
}
KLAB_SIMT_INLINE void barrier_cluster_wait(KLAB_SIMT_HERE) { klab::simt::cluster_wait(file, line); }
KLAB_SIMT_INLINE void barrier_cluster_wait(sem_acquire_t, KLAB_SIMT_HERE) {
  klab::simt::cluster_wait(file, line);
}
KLAB_SIMT_INLINE uint32_t getctarank(space_cluster_t, const void* p) { return klab::simt::rank_of_shared(p); }
template <class T>
KLAB_SIMT_INLINE void st_async(T* to, const T& value, uint64_t* barrier, KLAB_SIMT_HERE) {
  klab::simt::store_async(to, &value, sizeof value, barrier, file, line);
}
template <class T, int n>
KLAB_SIMT_INLINE void st_async(T* to, const T (&values)[n], uint64_t* barrier, KLAB_SIMT_HERE) {
  static_assert(n == 2 || n == 4, "st.async stores 1, 2 or 4 values");
  klab::simt::store_async(to, &values, sizeof values, barrier, file, line);
}
KLAB_SIMT_INLINE void trap(KLAB_SIMT_HERE) { klab::simt::trap(file, line); }

}  // namespace ptx
}  // namespace cuda
