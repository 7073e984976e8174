// matmul.cuda.11_wgmma_tma: four warps, one instruction; tiles fetched by one thread.
//
// CHANGE    Hopper's matrix instruction (wgmma) reads both factors from shared memory and is issued by a
//           group of four warps, asynchronously. A tile is fetched by one copy of the tensor memory
//           accelerator (TMA), started by one thread of a separate warp; barriers in shared memory (mbarrier)
//           signal full and empty buffers.
// EXPECT    no operand passes a register and no thread computes addresses: two thirds of the parent's
//           instructions are gone. mma.sync cannot fill Hopper's tensor cores, wgmma can. At least 1.4 times
//           the parent at 2048.
// NUMERICS  as the parent.
// NEEDS     compute capability 9.0, and only that one; a GPU, since the host's executor knows neither wgmma
//           nor TMA. 129 KB of shared memory; 2 bytes of device memory for each element of A and B.
// SASS      HGMMA.BF16 UTMALDG; no LDSM LDL STL
#include <stdexcept>

#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/matmul/matmul.h"

#if !KLAB_SIMT
#include <cuda.h>
#endif

namespace klab {
namespace {

constexpr int kTile = 128, kDepth = 64, kStages = 4;  // 64 elements are 128 bytes, the width of the swizzle

std::string supported(const Matmul::Shape&, const Host& host) {
  if (host.gpu && host.compute_capability != 90)
    return "needs a GPU of compute capability 9.0: its matrix instructions exist on no other";
  return cuda::needs_gpu(host, 90);
}

#if KLAB_SIMT

void run(const Matmul::Args<float>&) { throw std::logic_error("wgmma and TMA run on a GPU only"); }

#else

constexpr int kGroup = 128;           // threads of a group of four warps
constexpr int kThreads = 3 * kGroup;  // two groups that multiply, one of which a thread fetches
constexpr int kSide = 32;             // of a tile that is rounded

struct Tiles {
  __nv_bfloat16 a[kTile * kDepth];  // [row][p], swizzled by the copy
  __nv_bfloat16 b[kTile * kDepth];  // [column][p]
};
struct Shared {
  Tiles tiles[kStages];
  uint64_t full[kStages], empty[kStages];
};
constexpr size_t kAligned = 1024;  // a swizzled tile begins at a multiple of its period, 8 rows of 128 bytes

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

constexpr int kGroupRows = kTile / 2;  // of C, in a group that multiplies

__device__ __forceinline__ uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

__device__ __forceinline__ void barrier_init(uint64_t* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(shared_address(barrier)), "r"(arrivals));
}
__device__ __forceinline__ void barrier_arrive(uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];\n" ::"r"(shared_address(barrier)) : "memory");
}
/// Arrives, and announces bytes that copies will bring.
__device__ __forceinline__ void barrier_expect(uint64_t* barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(shared_address(barrier)),
               "r"(bytes)
               : "memory");
}
/// Waits until the barrier's phase of that parity is over.
__device__ __forceinline__ void barrier_wait(uint64_t* barrier, uint32_t parity) {
  uint32_t over = 0;
  while (over == 0)
    asm volatile(
        "{\n.reg .pred p;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n}\n"
        : "=r"(over)
        : "r"(shared_address(barrier)), "r"(parity)
        : "memory");
}

/// The tile whose first element is (row, p), by one instruction of one thread.
__device__ __forceinline__ void fetch_tile(__nv_bfloat16* to, const CUtensorMap* map, int p, int row,
                                           uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
      "%3}], "
      "[%4];\n" ::"r"(shared_address(to)),
      "l"(map), "r"(p), "r"(row), "r"(shared_address(barrier))
      : "memory");
}

/// How wgmma is told of a tile: address, distance of groups of 8 rows (1024 bytes), swizzle of 128 bytes.
/// (PTX manual, "Matrix Descriptor Format"; the distance at bit 16 has no meaning with this swizzle.)
__device__ __forceinline__ uint64_t descriptor(const __nv_bfloat16* tile) {
  const uint64_t at = shared_address(tile);
  return (at & 0x3FFFF) >> 4 | uint64_t(1) << 16 | uint64_t(1024 >> 4) << 32 | uint64_t(1) << 62;
}

// d[j] holds the values of c[0..3] of mma.m16n8k16, for columns 8j to 8j + 7 and the 16 rows of the warp.
#define KLAB_FOUR(j) "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])
__device__ __forceinline__ void multiply_64_128_16(float (&d)[16][4], uint64_t a, uint64_t b) {
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
#undef KLAB_FOUR

/// The fetching thread: fills buffers as they become empty.
__device__ __forceinline__ void fetch_all(Shared& shared, const CUtensorMap* map_a, const CUtensorMap* map_b,
                                          int steps, int i0, int j0) {
  for (int step = 0; step < steps; ++step) {
    const int stage = step % kStages;
    barrier_wait(&shared.empty[stage], (step / kStages & 1) ^ 1);  // passes at once in the first round
    barrier_expect(&shared.full[stage], sizeof(Tiles));
    fetch_tile(shared.tiles[stage].a, map_a, step * kDepth, i0, &shared.full[stage]);
    fetch_tile(shared.tiles[stage].b, map_b, step * kDepth, j0, &shared.full[stage]);
  }
}

/// A group that multiplies: 64 rows and 128 columns of C.
__device__ __forceinline__ void multiply_all(Shared& shared, float (&sums)[16][4], int group, int steps) {
  for (int step = 0; step < steps; ++step) {
    const int stage = step % kStages;
    barrier_wait(&shared.full[stage], step / kStages & 1);
    const uint64_t a = descriptor(shared.tiles[stage].a + group * kGroupRows * kDepth);
    const uint64_t b = descriptor(shared.tiles[stage].b);
    asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
#pragma unroll
    for (int p = 0; p < kDepth;
         p += 16)  // 16 elements are 32 bytes along the row: 2 in the descriptor's unit
      multiply_64_128_16(sums, a + uint64_t(p / 8), b + uint64_t(p / 8));
    asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;\n" ::: "memory");
    if (threadIdx.x % kGroup == 0) barrier_arrive(&shared.empty[stage]);
  }
}

#endif

__global__ void __launch_bounds__(kThreads)
    multiply(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
             float* __restrict__ c, int64_t m, int64_t n, int steps, int64_t across) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  KLAB_DYNAMIC_SHARED(unsigned char, bytes);
  const uint32_t skip = (kAligned - shared_address(bytes) % kAligned) % kAligned;
  Shared& shared = *reinterpret_cast<Shared*>(bytes + skip);
  const int group = threadIdx.x / kGroup;
  const int64_t i0 = blockIdx.x / across * kTile, j0 = blockIdx.x % across * kTile;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      barrier_init(&shared.full[stage], 1);
      barrier_init(&shared.empty[stage], 2);
    }
    // Copies see barriers by another way than threads do.
    asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;\n" ::: "memory");
  }
  __syncthreads();
  if (group == 2) {
    if (threadIdx.x % kGroup == 0) fetch_all(shared, &map_a, &map_b, steps, int(i0), int(j0));
    return;
  }
  float sums[16][4] = {};
  multiply_all(shared, sums, group, steps);
  const int warp = threadIdx.x % kGroup / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (int s = 0; s < 16; ++s)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int64_t i = i0 + group * kGroupRows + warp * 16 + half * 8 + lane / 4,
                    j = j0 + s * 8 + lane % 4 * 2;
      if (i >= m || j >= n) continue;
      c[i * n + j] = sums[s][2 * half];
      if (j + 1 < n) c[i * n + j + 1] = sums[s][2 * half + 1];
    }
#else
  __trap();  // compiled for another GPU, which supported() rejects
#endif
}

/// Rounds [height, width] into [rows, stride], zeros beyond the edges.
__global__ void __launch_bounds__(kSide* kSide)
    round_rows(const float* __restrict__ from, int64_t height, int64_t width, int64_t stride, int64_t across,
               __nv_bfloat16* __restrict__ to) {
  const int64_t i = blockIdx.x / across * kSide + threadIdx.y, j = blockIdx.x % across * kSide + threadIdx.x;
  to[i * stride + j] = __float2bfloat16(i < height && j < width ? from[i * width + j] : 0);
}

/// Rounds and transposes: to[j * stride + i] of [height, width].
__global__ void __launch_bounds__(kSide* kSide)
    round_columns(const float* __restrict__ from, int64_t height, int64_t width, int64_t stride,
                  int64_t across, __nv_bfloat16* __restrict__ to) {
  __shared__ float tile[kSide][kSide + 1];
  const int x = threadIdx.x, y = threadIdx.y;
  const int64_t i0 = blockIdx.x / across * kSide, j0 = blockIdx.x % across * kSide;
  tile[y][x] = i0 + y < height && j0 + x < width ? from[(i0 + y) * width + j0 + x] : 0;
  __syncthreads();
  to[(j0 + y) * stride + i0 + x] = __float2bfloat16(tile[x][y]);
}

/// Tiles of kTile rows and kDepth columns of [rows, stride], swizzled.
CUtensorMap map_of(const __nv_bfloat16* matrix, int64_t rows, int64_t stride) {
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
  const cuuint64_t sizes[] = {cuuint64_t(stride), cuuint64_t(rows)};
  const cuuint64_t strides[] = {cuuint64_t(stride) * sizeof(__nv_bfloat16)};
  const cuuint32_t box[] = {kDepth, kTile}, steps[] = {1, 1};
  const CUresult result =
      encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<__nv_bfloat16*>(matrix), sizes, strides,
             box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    throw std::runtime_error("cuTensorMapEncodeTiled failed with " + std::to_string(int(result)) + " for " +
                             std::to_string(rows) + " rows of " + std::to_string(stride));
  return map;
}

int64_t padded(int64_t size, int64_t to) { return (size + to - 1) / to * to; }

void run(const Matmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  if (k == 0) return cuda::fill_zero(x.c, size_t(m * n) * sizeof(float));
  const int64_t rows = padded(m, kTile), columns = padded(n, kTile), depth = padded(k, kDepth);
  cuda::Scratch scratch_a(size_t(rows * depth) * sizeof(__nv_bfloat16));
  cuda::Scratch scratch_b(size_t(columns * depth) * sizeof(__nv_bfloat16));
  auto* a = scratch_a.as<__nv_bfloat16>();
  auto* b = scratch_b.as<__nv_bfloat16>();
  const dim3 side(kSide, kSide);
  cuda::launch(round_rows, dim3(unsigned(rows / kSide * (depth / kSide))), side, 0, x.a, m, k, depth,
               depth / kSide, a);
  cuda::launch(round_columns, dim3(unsigned(depth / kSide * (columns / kSide))), side, 0, x.b, k, n, depth,
               columns / kSide, b);
  constexpr size_t bytes = sizeof(Shared) + kAligned;
  cuda::allow_shared(multiply, bytes);
  cuda::launch(multiply, dim3(unsigned(rows / kTile * (columns / kTile))), dim3(kThreads), bytes,
               map_of(a, rows, depth), map_of(b, columns, depth), x.c, m, n, int(depth / kDepth),
               columns / kTile);
}

#endif

KLAB_VARIANT(Matmul,
             {.run = run,
              .parent = "10_mma_sync",
              .numerics = {.unit = Unit::bf16},
              .tiles = {kDepth, kTile},
              .expect = {.shape = {2048, 2048, 2048}, .over_parent = 1.4},
              .when = {{2048, 2048, 2048}, "compute capability 9.0, and tiles that only large matrices fill"},
              .supported = supported});

}  // namespace
}  // namespace klab
