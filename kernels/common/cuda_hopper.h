// Hopper's matrix instructions (wgmma), tile copies (TMA), barriers in shared memory (mbarrier) and registers of a warp group:
// inline PTX under nvcc, run by harness/simt on the host.
//
// KLAB_HOPPER is 1 where kernels may use them: in code compiled for sm_90a, and for the host. The sums of a wgmma are not to be
// read or written before multiply_wait().
#pragma once

#include <cstdint>

#include "kernels/common/cuda.h"
#if KLAB_SIMT
#include "harness/simt/async_api.h"
#else
#include <cuda.h>
#endif

#if KLAB_SIMT || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define KLAB_HOPPER 1
#else
#define KLAB_HOPPER 0
#endif

namespace klab::hopper {

#if KLAB_SIMT

KLAB_SIMT_INLINE uint32_t shared_address(const void* p) { return simt::shared_address(p); }

// Barriers.

KLAB_SIMT_INLINE void barrier_init(uint64_t* barrier, int arrivals, KLAB_SIMT_HERE) {
  simt::mbarrier_init(barrier, uint32_t(arrivals), file, line);
}
/// Makes initialized barriers visible to copies.
KLAB_SIMT_INLINE void barrier_publish() {
  simt::fence_mbarrier_init();
  simt::fence_proxy();
}
KLAB_SIMT_INLINE void barrier_arrive(uint64_t* barrier, KLAB_SIMT_HERE) {
  simt::mbarrier_arrive(barrier, 1, simt::Arrival::plain, 0, file, line);
}
/// Arrives and announces the bytes that copies will deliver.
KLAB_SIMT_INLINE void barrier_expect(uint64_t* barrier, uint32_t bytes, KLAB_SIMT_HERE) {
  simt::mbarrier_arrive(barrier, 1, simt::Arrival::expect, bytes, file, line);
}
KLAB_SIMT_INLINE bool barrier_passed(uint64_t* barrier, uint32_t parity, KLAB_SIMT_HERE) {
  return simt::mbarrier_wait_parity(barrier, parity, file, line);
}
/// Waits until the barrier's phase of that parity is over.
KLAB_SIMT_INLINE void barrier_wait(uint64_t* barrier, uint32_t parity, KLAB_SIMT_HERE) {
  while (!barrier_passed(barrier, parity, file, line)) {
  }
}

// Copies of boxes between a matrix and shared memory. Elements outside the matrix are read as zeros and not written.

KLAB_SIMT_INLINE void prefetch_map(const CUtensorMap*) {}
/// Copies the box whose first element is (row, column).
KLAB_SIMT_INLINE void fetch_box(void* to, const CUtensorMap* map, int row, int column, uint64_t* barrier,
                                KLAB_SIMT_HERE) {
  const int at[] = {column, row};
  simt::tensor_load(to, map, 2, at, barrier, file, line);
}
KLAB_SIMT_INLINE void store_box(const CUtensorMap* map, int row, int column, const void* from,
                                KLAB_SIMT_HERE) {
  const int at[] = {column, row};
  simt::tensor_store(map, 2, at, from, file, line);
}
KLAB_SIMT_INLINE void store_commit() { simt::bulk_commit(); }
/// Waits until at most `left` of this thread's groups of stores still read shared memory.
template <int left>
KLAB_SIMT_INLINE void store_wait_read() {
  simt::bulk_wait(left, true);
}
/// Makes this thread's writes to shared memory visible to copies.
KLAB_SIMT_INLINE void publish_to_copies() { simt::fence_proxy(); }

// Registers of a group, for the rest of the kernel: a multiple of 8. All its warps call it.

template <int registers>
KLAB_SIMT_INLINE void take_registers(KLAB_SIMT_HERE) {
  simt::set_registers(registers, true, file, line);
}
template <int registers>
KLAB_SIMT_INLINE void give_registers(KLAB_SIMT_HERE) {
  simt::set_registers(registers, false, file, line);
}

// Matrix instructions.

/// Before the first wgmma that uses registers or shared memory which threads have written.
KLAB_SIMT_INLINE void multiply_begin(KLAB_SIMT_HERE) { simt::wgmma_fence(file, line); }
KLAB_SIMT_INLINE void multiply_commit(KLAB_SIMT_HERE) { simt::wgmma_commit(file, line); }
/// Waits until at most `left` committed groups are unfinished.
template <int left>
KLAB_SIMT_INLINE void multiply_wait(KLAB_SIMT_HERE) {
  simt::wgmma_wait(left, file, line);
}

// Sums of a group: d[j] holds columns 8j to 8j + 7 of 64 rows, each warp 16 of them, as c[0..3] of mma.m16n8k16.

/// d = a b, plus d if `add`; a K-major, b N-major.
template <int blocks>
KLAB_SIMT_INLINE void multiply_bf16(float (&d)[blocks][4], uint64_t a, uint64_t b, bool add, KLAB_SIMT_HERE) {
  simt::wgmma({.a = simt::WgmmaType::bf16,
               .b = simt::WgmmaType::bf16,
               .sum = simt::WgmmaSum::f32,
               .n = 8 * blocks,
               .add = add,
               .turned_b = true},
              {nullptr, reinterpret_cast<uint32_t*>(&d[0][0])}, nullptr, a, b, file, line);
}
/// d = a b + d, both K-major.
KLAB_SIMT_INLINE void multiply_bf16_along_k(float (&d)[16][4], uint64_t a, uint64_t b, KLAB_SIMT_HERE) {
  simt::wgmma({.a = simt::WgmmaType::bf16,
               .b = simt::WgmmaType::bf16,
               .sum = simt::WgmmaSum::f32,
               .n = 128,
               .add = true},
              {nullptr, reinterpret_cast<uint32_t*>(&d[0][0])}, nullptr, a, b, file, line);
}
/// d = a b, plus d if `add`, of e4m3; both K-major. The sums keep fewer bits than a float has, on a GPU.
KLAB_SIMT_INLINE void multiply_e4m3(float (&d)[16][4], uint64_t a, uint64_t b, bool add, KLAB_SIMT_HERE) {
  simt::wgmma({.a = simt::WgmmaType::e4m3,
               .b = simt::WgmmaType::e4m3,
               .sum = simt::WgmmaSum::f32,
               .n = 128,
               .add = add},
              {nullptr, reinterpret_cast<uint32_t*>(&d[0][0])}, nullptr, a, b, file, line);
}
/// d = a b, plus d if `add`, of bytes with signs; both K-major, sums exact.
KLAB_SIMT_INLINE void multiply_s8(int (&d)[32][4], uint64_t a, uint64_t b, bool add, KLAB_SIMT_HERE) {
  simt::wgmma(
      {.a = simt::WgmmaType::s8, .b = simt::WgmmaType::s8, .sum = simt::WgmmaSum::s32, .n = 256, .add = add},
      {nullptr, reinterpret_cast<uint32_t*>(&d[0][0])}, nullptr, a, b, file, line);
}
/// Tells nvcc that the sums may have changed; the host's compiler knows.
template <class Sum, int blocks>
KLAB_SIMT_INLINE void settle(Sum (&)[blocks][4]) {}

#elif KLAB_HOPPER

__device__ __forceinline__ uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

// Barriers.

__device__ __forceinline__ void barrier_init(uint64_t* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(shared_address(barrier)), "r"(arrivals));
}
/// Makes initialized barriers visible to copies.
__device__ __forceinline__ void barrier_publish() {
  asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;\n" ::: "memory");
}
__device__ __forceinline__ void barrier_arrive(uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];\n" ::"r"(shared_address(barrier)) : "memory");
}
/// Arrives and announces the bytes that copies will deliver.
__device__ __forceinline__ void barrier_expect(uint64_t* barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(shared_address(barrier)),
               "r"(bytes)
               : "memory");
}
__device__ __forceinline__ bool barrier_passed(uint64_t* barrier, uint32_t parity) {
  uint32_t over = 0;
  asm volatile(
      "{\n.reg .pred p;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n}\n"
      : "=r"(over)
      : "r"(shared_address(barrier)), "r"(parity)
      : "memory");
  return over != 0;
}
/// Waits until the barrier's phase of that parity is over. With KLAB_BOUNDED_WAITS it ends a kernel that waits too long.
__device__ __forceinline__ void barrier_wait(uint64_t* barrier, uint32_t parity) {
#ifdef KLAB_BOUNDED_WAITS
  if (barrier_passed(barrier, parity)) return;
  const long long begin = clock64();
  while (!barrier_passed(barrier, parity))
    if (clock64() - begin > KLAB_BOUNDED_WAITS) __trap();
#else
  while (!barrier_passed(barrier, parity)) {
  }
#endif
}

// Copies of boxes between a matrix and shared memory. Elements outside the matrix are read as zeros and not written.

__device__ __forceinline__ void prefetch_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];\n" ::"l"(map) : "memory");
}
/// Copies the box whose first element is (row, column).
__device__ __forceinline__ void fetch_box(void* to, const CUtensorMap* map, int row, int column,
                                          uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];\n" ::"r"(shared_address(to)),
      "l"(map), "r"(column), "r"(row), "r"(shared_address(barrier))
      : "memory");
}
__device__ __forceinline__ void store_box(const CUtensorMap* map, int row, int column, const void* from) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];\n" ::"l"(map),
      "r"(shared_address(from)), "r"(column), "r"(row)
      : "memory");
}
__device__ __forceinline__ void store_commit() { asm volatile("cp.async.bulk.commit_group;\n" ::: "memory"); }
/// Waits until at most `left` of this thread's groups of stores still read shared memory.
template <int left>
__device__ __forceinline__ void store_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;\n" ::"n"(left) : "memory");
}
/// Makes this thread's writes to shared memory visible to copies.
__device__ __forceinline__ void publish_to_copies() {
  asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
}

// Registers of a group, for the rest of the kernel: a multiple of 8. All its warps call it.

template <int registers>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;\n" ::"n"(registers));
}
template <int registers>
__device__ __forceinline__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;\n" ::"n"(registers));
}

// Matrix instructions (PTX manual, "Asynchronous warpgroup level matrix instructions"; layouts in "Matrix Descriptor Format").

/// Before the first wgmma that uses registers or shared memory which threads have written.
__device__ __forceinline__ void multiply_begin() { asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory"); }
__device__ __forceinline__ void multiply_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
}
/// Waits until at most `left` committed groups are unfinished.
template <int left>
__device__ __forceinline__ void multiply_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(left) : "memory");
}

// Sums of a group: d[j] holds columns 8j to 8j + 7 of 64 rows, each warp 16 of them, as c[0..3] of mma.m16n8k16.

#define KLAB_FOUR(j) "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])
#define KLAB_SIXTEEN(j) KLAB_FOUR(j), KLAB_FOUR(j + 1), KLAB_FOUR(j + 2), KLAB_FOUR(j + 3)

/// d = a b, plus d if `add`; a K-major, b N-major.
__device__ __forceinline__ void multiply_bf16(float (&d)[16][4], uint64_t a, uint64_t b, bool add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "%64, %65, p, 1, 1, 0, 1;\n}\n"
      : KLAB_SIXTEEN(0), KLAB_SIXTEEN(4), KLAB_SIXTEEN(8), KLAB_SIXTEEN(12)
      : "l"(a), "l"(b), "r"(int(add)));
}
__device__ __forceinline__ void multiply_bf16(float (&d)[32][4], uint64_t a, uint64_t b, bool add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
      "%128, %129, p, 1, 1, 0, 1;\n}\n"
      : KLAB_SIXTEEN(0), KLAB_SIXTEEN(4), KLAB_SIXTEEN(8), KLAB_SIXTEEN(12), KLAB_SIXTEEN(16),
        KLAB_SIXTEEN(20), KLAB_SIXTEEN(24), KLAB_SIXTEEN(28)
      : "l"(a), "l"(b), "r"(int(add)));
}
/// d = a b + d, both K-major.
__device__ __forceinline__ void multiply_bf16_along_k(float (&d)[16][4], uint64_t a, uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, "
      "%22, "
      "%23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, "
      "%43, "
      "%44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "%64, %65, 1, 1, 1, 0, 0;\n"
      : KLAB_FOUR(0), KLAB_FOUR(1), KLAB_FOUR(2), KLAB_FOUR(3), KLAB_FOUR(4), KLAB_FOUR(5), KLAB_FOUR(6),
        KLAB_FOUR(7), KLAB_FOUR(8), KLAB_FOUR(9), KLAB_FOUR(10), KLAB_FOUR(11), KLAB_FOUR(12), KLAB_FOUR(13),
        KLAB_FOUR(14), KLAB_FOUR(15)
      : "l"(a), "l"(b));
}
/// d = a b, plus d if `add`, of e4m3; both K-major. The sums keep fewer bits than a float has.
__device__ __forceinline__ void multiply_e4m3(float (&d)[16][4], uint64_t a, uint64_t b, bool add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "%64, %65, p, 1, 1;\n}\n"
      : KLAB_SIXTEEN(0), KLAB_SIXTEEN(4), KLAB_SIXTEEN(8), KLAB_SIXTEEN(12)
      : "l"(a), "l"(b), "r"(int(add)));
}
#undef KLAB_FOUR
#define KLAB_FOUR(j) "+r"(d[j][0]), "+r"(d[j][1]), "+r"(d[j][2]), "+r"(d[j][3])
/// d = a b, plus d if `add`, of bytes with signs; both K-major, sums exact.
__device__ __forceinline__ void multiply_s8(int (&d)[32][4], uint64_t a, uint64_t b, bool add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
      "%128, %129, p;\n}\n"
      : KLAB_SIXTEEN(0), KLAB_SIXTEEN(4), KLAB_SIXTEEN(8), KLAB_SIXTEEN(12), KLAB_SIXTEEN(16),
        KLAB_SIXTEEN(20), KLAB_SIXTEEN(24), KLAB_SIXTEEN(28)
      : "l"(a), "l"(b), "r"(int(add)));
}
#undef KLAB_SIXTEEN
#undef KLAB_FOUR

/// Tells the compiler that the sums may have changed: they are read after a wait only, which it cannot see.
template <int blocks>
__device__ __forceinline__ void settle(float (&d)[blocks][4]) {
#pragma unroll
  for (int j = 0; j < blocks; ++j)
#pragma unroll
    for (int e = 0; e < 4; ++e) asm volatile("" : "+f"(d[j][e])::"memory");
}
template <int blocks>
__device__ __forceinline__ void settle(int (&d)[blocks][4]) {
#pragma unroll
  for (int j = 0; j < blocks; ++j)
#pragma unroll
    for (int e = 0; e < 4; ++e) asm volatile("" : "+r"(d[j][e])::"memory");
}

#endif

#if KLAB_HOPPER

// Layouts in shared memory (PTX manual, "Matrix Descriptor Format").

/// Descriptor of 16 columns of a K-major tile; the next 16 are at + kNextK. Groups of 8 rows are 1024 bytes apart.
__device__ __forceinline__ uint64_t describe_k_major(const void* tile) {
  const uint64_t at = shared_address(tile);
  return (at & 0x3FFFF) >> 4 | uint64_t(1) << 16 | uint64_t(1024 >> 4) << 32 | uint64_t(1) << 62;
}
constexpr uint64_t kNextK = 32 >> 4;
/// Descriptor of 16 rows of an N-major tile whose columns lie in boxes of 64, `box_bytes` apart; the next 16 rows are at
/// + kNextRows. Groups of 8 rows are 1024 bytes apart.
__device__ __forceinline__ uint64_t describe_n_major(const void* tile, uint32_t box_bytes) {
  const uint64_t at = shared_address(tile);
  return (at & 0x3FFFF) >> 4 | uint64_t(box_bytes >> 4) << 16 | uint64_t(1024 >> 4) << 32 | uint64_t(1) << 62;
}
constexpr uint64_t kNextRows = 16 * 128 >> 4;

#endif

}  // namespace klab::hopper
