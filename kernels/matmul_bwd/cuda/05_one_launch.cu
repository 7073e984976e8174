// matmul_bwd.cuda.05_one_launch: both products at once, their sums cut in parts that fill the device.
//
// CHANGE    one launch rounds all three matrices, 8 elements a thread, and one multiplies. Blocks are shared out over the tiles
//           of d_a and d_b together; a sum is cut in parts while all of them fit on the device at once, and the block of a tile
//           that ends last adds the parts up in their order (kernels/common/last_block.h).
// EXPECT    at 1024 cubed the parent's products are 64 blocks each, one behind the other, on 132 multiprocessors. Here 128
//           tiles in 2 parts are 256 blocks, two a multiprocessor: 67 MB of tiles through L2, 12 us, 4.3e9 operations at half
//           of the tensor cores' rate 9 us behind them, 17 MB of parts written and read, 6 us. Rounding moves 18 MB in one
//           launch, 5 us for three launches' 12. Some 28 us; the parent's half-empty device needs twice as long for the
//           products.
// NUMERICS  as the parent; a sum of parts in their order, so two runs agree.
// NEEDS     as the parent; 64 KB of device memory a part of a tile.
// SASS      HMMA.BF16 LDSM.M88 LDSM.MT88 LDGSTS.128 LDG.128; no LDL STL CALL.div_s64 CALL.div_u64
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/last_block.h"
#include "kernels/common/matmul/round_matrices.h"
#include "kernels/common/mma.h"
#include "reference/matmul_bwd/matmul_bwd.h"

namespace klab {
namespace {

constexpr int kTile = 128, kDepth = 32, kStages = 3;
constexpr int kThreads = 256, kWarpRows = 64, kWarpColumns = 32;
constexpr int kDown = kWarpRows / 16, kAcross = kWarpColumns / 8;  // products of a warp
constexpr int kFours = kDown * kAcross;                            // fours of a thread's sums

// A tile is either [128][32], `along` the sum, or [32][128]. Columns of 8 elements (16 bytes, "chunks") are
// exchanged within a row, so that 8 rows at one chunk are in different banks.
template <bool along>
__device__ __forceinline__ int at(int row, int chunk) {
  return along ? row * kDepth + (chunk ^ (row / 2 & 3)) * 8 : row * kTile + (chunk ^ (row & 7)) * 8;
}

struct Tiles {
  __nv_bfloat16 left[kTile * kDepth], right[kTile * kDepth];
};

/// Copies 128 elements of an operand from r0 on and 32 steps of the sum from s0 on, as they lie.
template <bool along>
__device__ __forceinline__ void copy_ahead(__nv_bfloat16* to, const __nv_bfloat16* __restrict__ matrix,
                                           int64_t stride, int64_t r0, int64_t s0) {
  constexpr int across = (along ? kDepth : kTile) / 8;
  const __nv_bfloat16* from = matrix + (along ? r0 * stride + s0 : s0 * stride + r0);
#pragma unroll
  for (int e = int(threadIdx.x); e < kTile * kDepth / 8; e += kThreads)
    cuda::copy_async<16>(&to[at<along>(e / across, e % across)], from + e / across * stride + e % across * 8);
}

/// 16 rows by 16 steps. Matrices of 8 x 8 in the order that mma.sync wants: rows 0-7 and 8-15 at steps 0-7,
/// then both at steps 8-15.
template <bool along>
__device__ __forceinline__ void load_left(uint32_t (&r)[4], const __nv_bfloat16* tile, int row, int step) {
  const int lane = threadIdx.x % 32;
  if constexpr (along)
    cuda::ldmatrix_x4(r, &tile[at<true>(row + lane % 16, step / 8 + lane / 16)]);
  else
    cuda::ldmatrix_x4_trans(r, &tile[at<false>(step + lane % 8 + lane / 16 * 8, row / 8 + lane / 8 % 2)]);
}
/// 16 steps by 16 columns: columns 0-7 at steps 0-7 and 8-15, then columns 8-15.
template <bool along>
__device__ __forceinline__ void load_right(uint32_t (&r)[4], const __nv_bfloat16* tile, int column,
                                           int step) {
  const int lane = threadIdx.x % 32;
  if constexpr (along)
    cuda::ldmatrix_x4(r, &tile[at<true>(column + lane % 8 + lane / 16 * 8, step / 8 + lane / 8 % 2)]);
  else
    cuda::ldmatrix_x4_trans(r, &tile[at<false>(step + lane % 16, column / 8 + lane / 16)]);
}

/// result[rows,columns] = sum over s < length of left(row, s) · right(s, column); operands padded to whole
/// tiles.
struct Product {
  const __nv_bfloat16* left;
  int64_t left_stride;
  const __nv_bfloat16* right;
  int64_t right_stride;
  float* result;
  int rows, columns, length, across, tiles;  // across: tiles of a row
  int each, parts;                           // length of a part, parts of a sum
  bool pairs;
  float4* partial;     // [tiles,parts,16,threads]
  unsigned* arrivals;  // [tiles], zero
};

template <bool along>
__device__ __forceinline__ void multiply(const Product& p, Tiles* tiles, int block) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, tile = block / p.parts, part = block % p.parts;
  const int64_t i0 = int64_t(tile / p.across) * kTile, j0 = int64_t(tile % p.across) * kTile;
  const int begin = part * p.each, length = min(p.length, begin + p.each);
  const int row = warp / (kTile / kWarpColumns) * kWarpRows;
  const int column = warp % (kTile / kWarpColumns) * kWarpColumns;
  const auto ask_both = [&](Tiles& to, int s0) {
    if (s0 < length) {
      copy_ahead<along>(to.left, p.left, p.left_stride, i0, s0);
      copy_ahead<along>(to.right, p.right, p.right_stride, j0, s0);
    }
    cuda::copy_async_commit();  // empty groups too, so that their number tells which have landed
  };
  float sums[kDown][kAcross][4] = {};
  for (int stage = 0; stage < kStages - 1; ++stage) ask_both(tiles[stage], begin + stage * kDepth);
  int now = 0, next = kStages - 1;
  for (int s0 = begin; s0 < length; s0 += kDepth) {
    cuda::copy_async_wait<kStages - 2>();
    __syncthreads();
    ask_both(tiles[next], s0 + (kStages - 1) * kDepth);
#pragma unroll
    for (int s = 0; s < kDepth; s += 16) {
      uint32_t of_left[kDown][4], of_right[kAcross / 2][4];
#pragma unroll
      for (int r = 0; r < kDown; ++r) load_left<along>(of_left[r], tiles[now].left, row + 16 * r, s);
#pragma unroll
      for (int c = 0; c < kAcross / 2; ++c)
        load_right<along>(of_right[c], tiles[now].right, column + 16 * c, s);
#pragma unroll
      for (int r = 0; r < kDown; ++r)
#pragma unroll
        for (int c = 0; c < kAcross; ++c) {
          const uint32_t pair[2] = {of_right[c / 2][c % 2 * 2], of_right[c / 2][c % 2 * 2 + 1]};
          cuda::mma_m16n8k16_bf16(sums[r][c], of_left[r], pair, sums[r][c]);
        }
    }
    now = now + 1 == kStages ? 0 : now + 1;
    next = next + 1 == kStages ? 0 : next + 1;
  }
  if (p.parts > 1) {
    float4* const of_tile = p.partial + int64_t(tile) * p.parts * kFours * kThreads + threadIdx.x;
#pragma unroll
    for (int e = 0; e < kFours; ++e) {
      const float(&v)[4] = sums[e / kAcross][e % kAcross];
      of_tile[(part * kFours + e) * kThreads] = make_float4(v[0], v[1], v[2], v[3]);
    }
    if (!cuda::is_last_block(&p.arrivals[tile], unsigned(p.parts))) return;
#pragma unroll
    for (int e = 0; e < kFours * 4; ++e) sums[e / 4 / kAcross][e / 4 % kAcross][e % 4] = 0;
#pragma unroll 1
    for (int q = 0; q < p.parts; ++q)
#pragma unroll
      for (int e = 0; e < kFours; ++e) {
        float(&v)[4] = sums[e / kAcross][e % kAcross];
        const float4 w = of_tile[(q * kFours + e) * kThreads];
        v[0] += w.x, v[1] += w.y, v[2] += w.z, v[3] += w.w;
      }
  }
#pragma unroll
  for (int r = 0; r < kDown; ++r)
#pragma unroll
    for (int c = 0; c < kAcross; ++c)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int64_t i = i0 + row + r * 16 + half * 8 + lane / 4, j = j0 + column + c * 8 + lane % 4 * 2;
        const float low = sums[r][c][2 * half], high = sums[r][c][2 * half + 1];
        if (i >= p.rows || j >= p.columns) continue;
        if (p.pairs) {
          *reinterpret_cast<float2*>(p.result + i * p.columns + j) = make_float2(low, high);
        } else {
          p.result[i * p.columns + j] = low;
          if (j + 1 < p.columns) p.result[i * p.columns + j + 1] = high;
        }
      }
}

__global__ void __launch_bounds__(kThreads, 2) products(Product d_a, Product d_b) {
  KLAB_DYNAMIC_SHARED(Tiles, tiles);
  const int block = int(blockIdx.x), first = d_a.tiles * d_a.parts;
  if (block < first)
    multiply<true>(d_a, tiles, block);
  else
    multiply<false>(d_b, tiles, block - first);
}

void run(const MatmulBwd::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  const auto tiles_of = [](int64_t size) { return int((size + kTile - 1) / kTile); };
  const int rows = tiles_of(m), columns = tiles_of(n), depth = tiles_of(k);
  const int tiles = rows * depth + depth * columns;
  if (tiles == 0) return;
  const auto elements = [](int down, int across) { return size_t(down) * size_t(across) * kTile * kTile; };
  const cuda::Scratch copies((elements(rows, depth) + elements(depth, columns) + elements(rows, columns)) *
                             sizeof(__nv_bfloat16));
  auto* const a = copies.as<__nv_bfloat16>();
  auto *const b = a + elements(rows, depth), *const d_c = b + elements(depth, columns);
  const cuda::Scratch counters(size_t(tiles) * sizeof(unsigned));
  // As many parts as fit on the device at once, each of 4 steps or more.
  const int most = 2 * cuda::device().multiprocessors / tiles;
  const auto split = [&](Product p) {
    const int steps = (p.length + kDepth - 1) / kDepth, parts = std::clamp(steps / 4, 1, std::max(most, 1));
    p.each = (steps + parts - 1) / parts * kDepth;
    p.parts = p.each > 0 ? (steps * kDepth + p.each - 1) / p.each : 1;
    p.pairs = p.columns % 2 == 0 && cuda::aligned(p.result, 8);
    return p;
  };
  // d_a = d_c · Bᵀ: the sum over j runs along the rows of both. d_b = Aᵀ · d_c: down the columns of both.
  Product d_a =
      split({d_c, columns * kTile, b, columns * kTile, x.d_a, int(m), int(k), int(n), depth, rows * depth});
  Product d_b = split(
      {a, depth * kTile, d_c, columns * kTile, x.d_b, int(k), int(n), int(m), columns, depth * columns});
  const size_t of_a = d_a.parts > 1 ? size_t(d_a.tiles * d_a.parts) : 0;
  const size_t of_b = d_b.parts > 1 ? size_t(d_b.tiles * d_b.parts) : 0;
  const cuda::Scratch partial((of_a + of_b) * kFours * kThreads * sizeof(float4));
  d_a.partial = partial.as<float4>();
  d_b.partial = d_a.partial + of_a * kFours * kThreads;
  d_a.arrivals = counters.as<unsigned>();
  d_b.arrivals = d_a.arrivals + d_a.tiles;
  round_matrices({{x.a, a, int(m), int(k), rows * kTile, depth * kTile},
                  {x.b, b, int(k), int(n), depth * kTile, columns * kTile},
                  {x.d_c, d_c, int(m), int(n), rows * kTile, columns * kTile},
                  d_a.arrivals,
                  tiles});
  constexpr size_t bytes = kStages * sizeof(Tiles);
  cuda::allow_shared(products, bytes);
  cuda::launch(products, unsigned(d_a.tiles * d_a.parts + d_b.tiles * d_b.parts), kThreads, bytes, d_a, d_b);
}

KLAB_VARIANT(MatmulBwd,
             {.run = run,
              .parent = "04_mma_sync",
              .forward = "10_mma_sync",
              .numerics = {.unit = Unit::bf16},
              .tiles = {16, kDepth, kTile},
              .expect = {.shape = {1024, 1024, 1024}, .over_parent = 1.8},
              .supported = [](const MatmulBwd::Shape&, const Host& host) { return cuda::needs(host, 80); }});

}  // namespace
}  // namespace klab
