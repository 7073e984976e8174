// matmul_fp8.cpu.02_decoded_once: a table of 256 floats, and rows of sums.
//
// CHANGE    the values of the 256 patterns are looked up; a piece of B, 64 rows by 256 columns, is decoded
//           once and used for all rows of A; the loops go i, p, j, along rows.
// EXPECT    no decoding in the innermost loop, which becomes vectors of multiply-adds on floats: at least 20
//           times the parent. No processor here multiplies e4m3; the format saves memory, not time.
// NUMERICS  as the parent.
// NEEDS     64 KB of scratch.
#include <algorithm>
#include <array>

#include "harness/core/registrar.h"
#include "reference/formats.h"
#include "reference/matmul_fp8/matmul_fp8.h"

namespace klab {
namespace {

constexpr int64_t kDepth = 64, kColumns = 256;

const std::array<float, 256>& values() {
  static const auto table = [] {
    std::array<float, 256> all;
    for (uint32_t bits = 0; bits < 256; ++bits) all[bits] = float(decode(kE4m3, bits));
    return all;
  }();
  return table;
}

void run(const MatmulFp8::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  const std::array<float, 256>& value = values();
  alignas(64) float piece[kDepth * kColumns];
  std::fill(x.c, x.c + m * n, 0.0F);
  for (int64_t j0 = 0; j0 < n; j0 += kColumns) {
    const int64_t width = std::min(kColumns, n - j0);
    for (int64_t p0 = 0; p0 < k; p0 += kDepth) {
      const int64_t depth = std::min(kDepth, k - p0);
      for (int64_t p = 0; p < depth; ++p)
        for (int64_t j = 0; j < width; ++j) piece[p * kColumns + j] = value[x.b[(p0 + p) * n + j0 + j]];
      for (int64_t i = 0; i < m; ++i)
        for (int64_t p = 0; p < depth; ++p) {
          const float a = value[x.a[i * k + p0 + p]];
          float* const c = x.c + i * n + j0;
#pragma omp simd
          for (int64_t j = 0; j < width; ++j) c[j] += a * piece[p * kColumns + j];
        }
    }
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = j0; j < j0 + width; ++j) x.c[i * n + j] *= x.scale[j];
  }
}

KLAB_VARIANT(MatmulFp8, {.run = run,
                         .parent = "01_naive",
                         .tiles = {kDepth, kColumns},
                         .expect = {.shape = {512, 512, 512}, .over_parent = 5}});

}  // namespace
}  // namespace klab
