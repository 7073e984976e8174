// matmul.cpu.04_cache_tile: blocks of A, B and C that fit the caches, one after the other.
//
// CHANGE    three loops around the tiles cut k, n and m into blocks; a block of B is used for all rows of
//           A, a block of A for all columns of the block of B, before either leaves its cache.
// EXPECT    the parent streams all of B past every 4 rows of A. Now it comes from L2 or nearer: at least
//           1.1 times at 1000. About nothing at 256, where all of B fits L2 anyway, and little at 1024:
//           rows 4096 bytes apart push each other out of a cache however small the block is.
// NUMERICS  float; chains of at most 256 additions, then one addition a block.
#include <algorithm>
#include <cstring>

#include "harness/core/registrar.h"
#include "reference/matmul/matmul.h"

namespace klab {
namespace {

// Every 64-bit x86 and ARM processor has four lanes, and the compiler used them for the parent's loop.
constexpr int64_t kLanes = 4;
using Vector = float __attribute__((vector_size(4 * kLanes)));

constexpr int64_t kRows = 4;
constexpr int64_t kVectors = 2;
constexpr int64_t kColumns = kVectors * kLanes;

// Caches that the blocks lie in, at 4 bytes per float. A panel of B, kBlockDepth × kColumns: 8 KB, L1. A
// block of A, kBlockRows × kBlockDepth: 96 KB, L2. A block of B, kBlockDepth × kBlockColumns: 512 KB, L2 or
// L3.
constexpr int64_t kBlockDepth = 256;
constexpr int64_t kBlockRows = 96;
constexpr int64_t kBlockColumns = 512;

Vector load(const float* from) {
  Vector v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

/// A tile of C, kRows × kColumns, written or, with `add`, added to. a: rows a_stride apart; b, c: rows n
/// apart.
void tile(int64_t depth, const float* a, int64_t a_stride, const float* b, float* c, int64_t n, bool add) {
  Vector sum[kRows][kVectors] = {};
  for (int64_t p = 0; p < depth; ++p) {
    const Vector b0 = load(b + p * n), b1 = load(b + p * n + kLanes);
    for (int64_t i = 0; i < kRows; ++i) {
      sum[i][0] += a[i * a_stride + p] * b0;
      sum[i][1] += a[i * a_stride + p] * b1;
    }
  }
  for (int64_t i = 0; i < kRows; ++i) {
    if (add) {
      sum[i][0] += load(c + i * n);
      sum[i][1] += load(c + i * n + kLanes);
    }
    std::memcpy(c + i * n, sum[i], sizeof sum[i]);
  }
}

/// The same for rows × columns that the edge of C cut off.
void edge(int64_t rows, int64_t columns, int64_t depth, const float* a, int64_t a_stride, const float* b,
          float* c, int64_t n, bool add) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < depth; ++p) sum += a[i * a_stride + p] * b[p * n + j];
      c[i * n + j] = add ? c[i * n + j] + sum : sum;
    }
}

/// C[rows,columns] = or += A[rows,depth]·B[depth,columns], blocks of larger matrices.
void block(int64_t rows, int64_t columns, int64_t depth, const float* a, int64_t a_stride, const float* b,
           float* c, int64_t n, bool add) {
  for (int64_t j = 0; j < columns; j += kColumns)
    for (int64_t i = 0; i < rows; i += kRows) {
      const float* ai = a + i * a_stride;
      const int64_t height = std::min(kRows, rows - i), width = std::min(kColumns, columns - j);
      if (height == kRows && width == kColumns)
        tile(depth, ai, a_stride, b + j, c + i * n + j, n, add);
      else
        edge(height, width, depth, ai, a_stride, b + j, c + i * n + j, n, add);
    }
}

void run(const Matmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (k == 0) std::fill_n(x.c, m * n, 0.0F);
  for (int64_t jc = 0; jc < n; jc += kBlockColumns)
    for (int64_t pc = 0; pc < k; pc += kBlockDepth)
      for (int64_t ic = 0; ic < m; ic += kBlockRows) {
        const int64_t columns = std::min(kBlockColumns, n - jc);
        const int64_t depth = std::min(kBlockDepth, k - pc);
        const int64_t rows = std::min(kBlockRows, m - ic);
        block(rows, columns, depth, x.a + ic * k + pc, k, x.b + pc * n + jc, x.c + ic * n + jc, n, pc > 0);
      }
}

KLAB_VARIANT(Matmul, {.run = run,
                      .parent = "03_register_tile",
                      .tiles = {kRows, kColumns, kBlockRows, kBlockDepth, kBlockColumns},
                      .expect = {.shape = {1000, 1000, 1000}, .over_parent = 1.1}});

}  // namespace
}  // namespace klab
