// Hopper's matrix instructions (wgmma), tile copies (TMA) and barriers in shared memory, for matrix products.
//
// A tile is rows of 128 bytes, 64 elements of two bytes. TMA stores the 16-byte chunk c of row r at c ^ (r % 8), and wgmma
// reads it in that order ("swizzle of 128 bytes"), so a tile begins at a multiple of 1024 bytes. In a product A[m,k] B[k,n] of
// row-major matrices a tile of A has rows of k ("K-major"), a tile of B has rows of n ("N-major"): wgmma transposes the latter
// as it reads, which it can for two-byte elements only.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "kernels/common/cuda_hopper.h"
#if KLAB_SIMT
#include "harness/simt/tensor_map.h"
#endif

namespace klab::hopper {

/// Empty on a GPU of compute capability 9.0 and where the host emulates one, else the reason for supported().
template <class Host>
std::string needs_hopper(const Host& host) {
  if (host.compute_capability != 90)
    return "needs a GPU of compute capability 9.0: its matrix instructions exist on no other";
  return "";
}

constexpr int kGroup = 128;                     // threads that issue a wgmma together
constexpr int kSwizzled = 64;                   // two-byte elements of a tile's row
constexpr size_t kPeriod = 1024;                // bytes after which the swizzle repeats: a tile's alignment
constexpr int kOutRows = 16, kOutColumns = 32;  // of a box of float sums: a warp's rows, 128 bytes

#if KLAB_HOPPER

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
#endif  // KLAB_HOPPER

/// TMA takes the matrix: 16-byte alignment of its begin and its rows.
inline bool tiled_copies_take(const void* matrix, int64_t columns, size_t element) {
  return reinterpret_cast<uintptr_t>(matrix) % 16 == 0 && size_t(columns) * element % 16 == 0;
}

/// Map of a row-major matrix [rows, columns] for boxes of `box_rows` and 128 bytes across, swizzled.
inline CUtensorMap map_of(CUtensorMapDataType type, size_t element, const void* matrix, int64_t rows,
                          int64_t columns, int box_rows) {
  CUtensorMap map;
  const cuuint64_t sizes[] = {cuuint64_t(columns), cuuint64_t(rows)};
  const cuuint64_t strides[] = {cuuint64_t(columns) * element};
  const cuuint32_t box[] = {cuuint32_t(128 / element), cuuint32_t(box_rows)}, steps[] = {1, 1};
#if KLAB_SIMT
  const std::string broken = simt::encode_tiled(
      &map, {type, 2, const_cast<void*>(matrix), sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
             CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE});
  if (!broken.empty()) throw std::runtime_error("cuTensorMapEncodeTiled: " + broken);
#else
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
  const CUresult result = encode(&map, type, 2, const_cast<void*>(matrix), sizes, strides, box, steps,
                                 CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                 CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    throw std::runtime_error("cuTensorMapEncodeTiled failed with " + std::to_string(int(result)) + " for " +
                             std::to_string(rows) + " rows of " + std::to_string(columns));
#endif
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

}  // namespace klab::hopper
