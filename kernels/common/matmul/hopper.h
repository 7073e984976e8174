// Hopper's matrix instructions (wgmma), tile copies (TMA) and barriers in shared memory, for matrix products.
//
// A tile is rows of 128 bytes, 64 elements of two bytes. TMA stores the 16-byte chunk c of row r at c ^ (r % 8), and wgmma
// reads it in that order ("swizzle of 128 bytes"), so a tile begins at a multiple of 1024 bytes. In a product A[m,k] B[k,n] of
// row-major matrices a tile of A has rows of k ("K-major"), a tile of B has rows of n ("N-major"): wgmma transposes the latter
// as it reads, which it can for two-byte elements only.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/common/cuda.h"

#if !KLAB_SIMT
#include <cuda.h>

#include <stdexcept>
#endif

namespace klab::hopper {

/// Empty on a GPU of compute capability 9.0, else the reason for supported().
template <class Host>
std::string needs_hopper(const Host& host) {
  if (host.gpu && host.compute_capability != 90)
    return "needs a GPU of compute capability 9.0: its matrix instructions exist on no other";
  return cuda::needs_gpu(host, 90);
}

#if !KLAB_SIMT

constexpr int kGroup = 128;                     // threads that issue a wgmma together
constexpr int kSwizzled = 64;                   // two-byte elements of a tile's row
constexpr size_t kPeriod = 1024;                // bytes after which the swizzle repeats: a tile's alignment
constexpr int kOutRows = 16, kOutColumns = 32;  // of a box of float sums: a warp's rows, 128 bytes

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

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

/// Stores what a group holds, from (i0, j0) of c[m,n] on: `value(s, e)` is element e of block s. `pairs`: n is even and c is
/// aligned to 8 bytes.
template <int blocks, class Value>
__device__ __forceinline__ void store_directly(const Value& value, float* __restrict__ c, int64_t m,
                                               int64_t n, int64_t i0, int64_t j0, bool pairs) {
  const int warp = int(threadIdx.x) % kGroup / 32, lane = int(threadIdx.x) % 32;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int64_t i = i0 + warp * 16 + half * 8 + lane / 4;
    if (i >= m) continue;
#pragma unroll
    for (int s = 0; s < blocks; ++s) {
      const int64_t j = j0 + s * 8 + lane % 4 * 2;
      float* to = c + i * n + j;
      const float low = value(s, 2 * half), high = value(s, 2 * half + 1);
      if (pairs && j < n) *reinterpret_cast<float2*>(to) = make_float2(low, high);
      if (!pairs && j < n) to[0] = low;
      if (!pairs && j + 1 < n) to[1] = high;
    }
  }
}

/// The same by copies of boxes, each warp for itself: it writes 16 rows of 32 columns, swizzled as the map says, and goes on
/// while the copy reads them. `out` holds `buffers` boxes of the warp.
template <int blocks, int buffers, class Value>
__device__ __forceinline__ void store_by_boxes(const Value& value, const CUtensorMap* map,
                                               float (&out)[buffers][kOutRows * kOutColumns], int i0,
                                               int j0) {
  const int warp = int(threadIdx.x) % kGroup / 32, lane = int(threadIdx.x) % 32, row = lane / 4;
#pragma unroll
  for (int q = 0; q < blocks / 4; ++q) {
    float* to = out[q % buffers];
    if (lane == 0) store_wait_read<buffers - 1>();  // the copy that read this box last has done so
    __syncwarp();
#pragma unroll
    for (int s = 0; s < 4; ++s)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int chunk = (s * 2 + lane % 4 / 2) ^ row;  // of 4 floats
        *reinterpret_cast<float2*>(to + (half * 8 + row) * kOutColumns + chunk * 4 + lane % 2 * 2) =
            make_float2(value(q * 4 + s, 2 * half), value(q * 4 + s, 2 * half + 1));
      }
    publish_to_copies();
    __syncwarp();
    if (lane == 0) {
      store_box(map, i0 + warp * kOutRows, j0 + q * kOutColumns, to);
      store_commit();
    }
  }
}
#endif  // __CUDA_ARCH_FEAT_SM90_ALL

/// TMA takes the matrix: 16-byte alignment of its begin and its rows.
inline bool tiled_copies_take(const void* matrix, int64_t columns, size_t element) {
  return reinterpret_cast<uintptr_t>(matrix) % 16 == 0 && size_t(columns) * element % 16 == 0;
}

/// Map of a row-major matrix [rows, columns] for boxes of `box_rows` and 128 bytes across, swizzled.
inline CUtensorMap map_of(CUtensorMapDataType type, size_t element, const void* matrix, int64_t rows,
                          int64_t columns, int box_rows) {
  using Encode = decltype(&cuTensorMapEncodeTiled);
  static const Encode encode = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    KLAB_CUDA_CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000,
                                                     cudaEnableDefault, &result));
#else
    KLAB_CUDA_CHECK(cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found, cudaEnableDefault, &result));
#endif
    if (result != cudaDriverEntryPointSuccess)
      throw std::runtime_error("the driver has no cuTensorMapEncodeTiled; CUDA 12.0 or newer has it");
    return reinterpret_cast<Encode>(found);
  }();
  CUtensorMap map;
  const cuuint64_t sizes[] = {cuuint64_t(columns), cuuint64_t(rows)};
  const cuuint64_t strides[] = {cuuint64_t(columns) * element};
  const cuuint32_t box[] = {cuuint32_t(128 / element), cuuint32_t(box_rows)}, steps[] = {1, 1};
  const CUresult result = encode(&map, type, 2, const_cast<void*>(matrix), sizes, strides, box, steps,
                                 CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                 CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    throw std::runtime_error("cuTensorMapEncodeTiled failed with " + std::to_string(int(result)) + " for " +
                             std::to_string(rows) + " rows of " + std::to_string(columns));
  return map;
}

inline CUtensorMap map_of(const __nv_bfloat16* matrix, int64_t rows, int64_t columns, int box_rows) {
  return map_of(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, sizeof(__nv_bfloat16), matrix, rows, columns, box_rows);
}
inline CUtensorMap map_of(const uint8_t* matrix, int64_t rows, int64_t columns, int box_rows) {
  return map_of(CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, matrix, rows, columns, box_rows);
}
inline CUtensorMap map_of(const float* matrix, int64_t rows, int64_t columns, int box_rows) {
  return map_of(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, sizeof(float), matrix, rows, columns, box_rows);
}

#endif  // !KLAB_SIMT

}  // namespace klab::hopper
