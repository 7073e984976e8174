// matmul.cpu.03_register_tile: a 4×8 tile of C stays in registers while k runs.
//
// CHANGE    the innermost work is a tile of C, not a row of it: an element of A that was loaded serves 8
//           products, one of B serves 4, and C is written once.
// EXPECT    for each product the parent loads an element of B, loads one of C and stores it; this loads
//           1/4 + 1/8. At least 1.3 times at 256, where everything is in L2. Less, or a loss, at large
//           powers of two: each step of k needs another cache line of B, 4·n bytes from the last, and
//           those share few places of the cache.
// NUMERICS  float accumulator in a register, one chain of k additions: the same bits as the parent.
// NEEDS     nothing; rows and columns left over are computed one element at a time.
// TRIED     see NOTES.md, cpu.03_register_tile
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

Vector load(const float* from) {
  Vector v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

/// A tile of C, kRows × kColumns. a: rows a_stride apart; b, c: rows n apart.
void tile(int64_t depth, const float* a, int64_t a_stride, const float* b, float* c, int64_t n) {
  Vector sum[kRows][kVectors] = {};
  for (int64_t p = 0; p < depth; ++p) {
    const Vector b0 = load(b + p * n), b1 = load(b + p * n + kLanes);
    for (int64_t i = 0; i < kRows; ++i) {
      sum[i][0] += a[i * a_stride + p] * b0;
      sum[i][1] += a[i * a_stride + p] * b1;
    }
  }
  for (int64_t i = 0; i < kRows; ++i) std::memcpy(c + i * n, sum[i], sizeof sum[i]);
}

/// The same for rows × columns that the edge of C cut off.
void edge(int64_t rows, int64_t columns, int64_t depth, const float* a, int64_t a_stride, const float* b,
          float* c, int64_t n) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < depth; ++p) sum += a[i * a_stride + p] * b[p * n + j];
      c[i * n + j] = sum;
    }
}

void run(const Matmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; i += kRows)
    for (int64_t j = 0; j < n; j += kColumns) {
      const float* a = x.a + i * k;
      const float* b = x.b + j;
      float* c = x.c + i * n + j;
      const int64_t rows = std::min(kRows, m - i), columns = std::min(kColumns, n - j);
      if (rows == kRows && columns == kColumns)
        tile(k, a, k, b, c, n);
      else
        edge(rows, columns, k, a, k, b, c, n);
    }
}

KLAB_VARIANT(Matmul, {.run = run,
                      .parent = "02_loop_order",
                      .tiles = {kRows, kColumns},
                      .expect = {.shape = {256, 256, 256}, .over_parent = 1.3}});

}  // namespace
}  // namespace klab
