// The part of matmul.cuda.07_async_copies that 08_warp_tile takes over as it is.

constexpr int kPadded = kTile + 4;
static_assert(kTile * kDepth == 4 * kThreads, "a thread fetches four floats of each tile");

struct Tiles {
  float a[kDepth][kPadded];  // [p][row]
  float b[kDepth][kTile];    // [p][column]
};

/// Starts copies of the tiles at depth p0. Elements outside the matrices become zero and are not read.
template <bool whole>
__device__ __forceinline__ void copy_tiles(Tiles& to, const float* __restrict__ a,
                                           const float* __restrict__ b, int64_t m, int64_t n, int64_t k,
                                           int64_t i0, int64_t j0, int64_t p0) {
  const int t = threadIdx.x;
  const int a_row = t / kDepth, a_p = t % kDepth;
#pragma unroll
  for (int r = a_row; r < kTile; r += kThreads / kDepth) {
    const bool inside = i0 + r < m && p0 + a_p < k;
    cuda::copy_async_zfill<4>(&to.a[a_p][r], inside ? a + (i0 + r) * k + p0 + a_p : a, inside ? 4 : 0);
  }
  const int b_p = t / (kTile / 4), b_column = t % (kTile / 4) * 4;
  const int64_t left = p0 + b_p < k ? n - j0 - b_column : 0;
  const float* from = b + (p0 + b_p) * n + j0 + b_column;
  if constexpr (whole) {
    cuda::copy_async_zfill<16>(&to.b[b_p][b_column], left > 0 ? from : b, left > 0 ? 16 : 0);
  } else {
    for (int s = 0; s < 4; ++s)
      cuda::copy_async_zfill<4>(&to.b[b_p][b_column + s], left > s ? from + s : b, left > s ? 4 : 0);
  }
  cuda::copy_async_commit();
}
