// Hopper's asynchronous instructions, as kernels compiled for the host call them: barriers in shared memory that also count
// bytes (mbarrier), bulk copies and copies of tensor boxes (TMA), matrix products of four warps (wgmma), named barriers.
//
// Semantics are those of the PTX manual; each function names the instruction. All are called by a running thread. Functions
// with `file` and `line` report where they were called.
#pragma once

#include <cstddef>
#include <cstdint>

#include "harness/simt/tensor_map_types.h"

namespace klab::simt {

/// Addresses of shared memory as 32-bit numbers of at most 18 bits, as in PTX and in matrix descriptors.
uint32_t shared_address(const void* p);
void* shared_pointer(uint32_t address);

// mbarrier (PTX manual, "Parallel Synchronization and Communication Instructions: mbarrier").

/// mbarrier.init, mbarrier.inval
void mbarrier_init(void* barrier, uint32_t count, const char* file, int line);
void mbarrier_invalidate(void* barrier, const char* file, int line);
enum class Arrival { plain, expect, drop, no_complete };
/// To whom an arrival passes on the accesses before it: to all blocks of the cluster; with .cta to the own block; with .relaxed to
/// none. (Without a scope PTX has .cta, and yet programs arrive so at other blocks' barriers.)
enum class Passes : uint8_t { to_cluster, to_block, nothing };
/// mbarrier.arrive, .arrive.expect_tx (adds `bytes` to the transaction count before), .arrive_drop. Returns the phase's state.
uint64_t mbarrier_arrive(void* barrier, uint32_t count, Arrival how, int64_t bytes, const char* file,
                         int line);
uint64_t mbarrier_arrive(void* barrier, uint32_t count, Arrival how, int64_t bytes, const char* file,
                         int line, Passes passes);
/// mbarrier.expect_tx (bytes above 0), mbarrier.complete_tx (below)
void mbarrier_transact(void* barrier, int64_t bytes, const char* file, int line);
/// mbarrier.test_wait and .try_wait: returns whether the phase that `state` names, or the one of that parity, is over. Waits
/// for that as long as another thread can run. `acquires`: false for .relaxed, which orders nothing.
bool mbarrier_wait(void* barrier, uint64_t state, const char* file, int line);
bool mbarrier_wait(void* barrier, uint64_t state, const char* file, int line, bool acquires);
bool mbarrier_wait_parity(void* barrier, uint32_t parity, const char* file, int line);
bool mbarrier_wait_parity(void* barrier, uint32_t parity, const char* file, int line, bool acquires);
/// fence.mbarrier_init.release.cluster: barriers that the thread has initialized are known to others behind the next barrier of the
/// cluster, even if the thread arrives there with .relaxed.
void fence_mbarrier_init();
/// mbarrier.pending_count
inline uint32_t mbarrier_pending(uint64_t state) { return uint32_t(state & 0xFFFFF); }
/// cp.async.mbarrier.arrive: the barrier is arrived at when the thread's earlier cp.async have landed. Without .noinc the
/// phase expects one more arrival.
void mbarrier_follows_copies(void* barrier, bool noinc, const char* file, int line);

/// A parameter of the running kernel is a __grid_constant__ one: the copy engine may read a tensor map there. Programs call it at the
/// begin of a kernel (harness/cuda_compiler/kernels.cpp).
void grid_constant(const void* p, size_t bytes);

/// fence.proxy.async: orders the thread's accesses before the asynchronous proxy's.
void fence_proxy();

// Bulk copies (PTX manual, "Data Movement and Conversion Instructions: Bulk copy", "Tensor copy").

/// cp.async.bulk.shared.global: `bytes` of global memory to shared memory; they are completed on the barrier.
void bulk_load(void* shared, const void* global, uint32_t bytes, void* barrier, const char* file, int line);
/// cp.async.bulk.global.shared, in the thread's open bulk group
void bulk_store(void* global, const void* shared, uint32_t bytes, const char* file, int line);
/// cp.async.bulk.tensor.Nd.shared.global and .global.shared: the box whose first element has the coordinates `at`, dimension 0
/// first.
void tensor_load(void* shared, const CUtensorMap* map, int rank, const int* at, void* barrier,
                 const char* file, int line);
void tensor_store(const CUtensorMap* map, int rank, const int* at, const void* shared, const char* file,
                  int line);
/// cp.async.bulk.commit_group, cp.async.bulk.wait_group[.read] `left`: until that, with .read, copies have only read shared memory.
void bulk_commit();
void bulk_wait(int left);
void bulk_wait(int left, bool read);

// wgmma (PTX manual, "Asynchronous Warpgroup Level Matrix Instructions").

enum class WgmmaType : uint8_t { f16, bf16, tf32, e4m3, e5m2, s8, u8 };
enum class WgmmaSum : uint8_t { f32, f16, s32 };
struct Wgmma {
  WgmmaType a, b;
  WgmmaSum sum;
  int n;     // columns of D; it has 64 rows
  bool add;  // scale-d: D = A B + D, else D = A B
  bool minus_a = false, minus_b = false;
  bool turned_a = false, turned_b = false;  // A lies along m, B along n, rather than along k
  bool saturates = false;                   // s32
  /// Depth of one product, and bytes of an element.
  int element() const { return a == WgmmaType::tf32 ? 4 : a <= WgmmaType::bf16 ? 2 : 1; }
  int depth() const { return 32 / element(); }
  int registers() const { return sum == WgmmaSum::f16 ? n / 4 : n / 2; }
};
/// A thread's registers that hold its part of D: `each[r]` points to register r; `each` is nullptr if they follow each other
/// from `first` on.
struct WgmmaRegisters {
  uint32_t* const* each;
  uint32_t* first;
  uint32_t* at(int r) const { return each != nullptr ? each[r] : first + r; }
};
/// wgmma.mma_async. `a` and `b` are matrix descriptors; with `a_registers`, A's four registers, `a` is not used. The sums are in
/// the registers after wgmma_wait(); until then these hold a pattern (a NaN).
void wgmma(const Wgmma& what, const WgmmaRegisters& d, const uint32_t* a_registers, uint64_t a, uint64_t b,
           const char* file, int line);
/// wgmma.fence, wgmma.commit_group, wgmma.wait_group `left`
void wgmma_fence(const char* file, int line);
void wgmma_commit(const char* file, int line);
void wgmma_wait(int left, const char* file, int line);

// Roles of warps.

/// barrier.sync / barrier.arrive `id`, `threads`
void named_barrier(uint32_t id, uint32_t threads, bool waits, const char* file, int line);
/// setmaxnreg.inc and .dec
void set_registers(uint32_t count, bool more, const char* file, int line);
/// elect.sync: whether the calling lane is the one elected of the mask; `leader` is its number.
bool elect(uint32_t mask, uint32_t* leader, const char* file, int line);

}  // namespace klab::simt
