// matmul_int8.cpu.06_amx_tile: the processor's matrix unit, one tile of sums at a time.
//
// CHANGE    TDPBSSD multiplies tiles of 16 x 64 and 64 x 16 signed bytes and adds the products to 16 x 16 sums of 32 bits, which
//           stay in a register for all of k. B is packed for it, 16 columns at a time, in fours along the sum. Each tile of sums
//           has the configuration that its rows and columns need.
// EXPECT    32,768 operations an instruction. The next one waits for its sums, some 50 cycles: 600 operations a cycle, where the
//           parent does 10 to 20.
// NUMERICS  exact sums; a conversion and a product.
// NEEDS     AMX. Where the processor has none, a model does the same and is not timed.
#include <algorithm>
#include <string>

#include "harness/core/registrar.h"
#include "kernels/common/scratch.h"
#include "kernels/common/tiles.h"
#include "reference/matmul_int8/matmul_int8.h"

namespace klab {
namespace {

constexpr int64_t kSide = 16,
                  kDepth = 64;  // rows and columns of a tile of sums; depths of a product of tiles

/// Columns [j, j + 16) of B as fours p ... p + 3 next to each other, 16 fours for each product of tiles; zeros beyond the matrix.
void pack(const MatmulInt8::Args<float>& x, int64_t j, uint32_t* to) {
  const int64_t n = x.shape.n, k = x.shape.k, width = std::min(kSide, n - j);
  const auto at = [&](int64_t p, int64_t s) {
    return p < k && s < width ? uint32_t(uint8_t(x.b[p * n + j + s])) : 0U;
  };
  for (int64_t p = 0; p < k; p += kDepth)
    for (int64_t q = p; q < p + kDepth; q += 4)
      for (int64_t s = 0; s < kSide; ++s)
        *to++ = at(q, s) | at(q + 1, s) << 8 | at(q + 2, s) << 16 | at(q + 3, s) << 24;
}

/// Up to 16 rows of A from (i, p) on, with zeros beyond k.
void pad(const MatmulInt8::Args<float>& x, int64_t i, int64_t rows, int64_t p, int8_t* to) {
  const int64_t k = x.shape.k;
  std::fill_n(to, kSide * kDepth, int8_t{});
  for (int64_t r = 0; r < rows; ++r) std::copy(x.a + (i + r) * k + p, x.a + (i + r + 1) * k, to + r * kDepth);
}

template <class Tiles>
void multiply(const MatmulInt8::Args<float>& x, uint32_t* packed) {
  const auto [m, n, k] = x.shape;
  alignas(64) int8_t rest[kSide * kDepth];
  alignas(64) int32_t sums[kSide * kSide];
  for (int64_t j = 0; j < n; j += kSide) {
    const int64_t columns = std::min(kSide, n - j);
    pack(x, j, packed);
    for (int64_t i = 0; i < m; i += kSide) {
      const int64_t rows = std::min(kSide, m - i);
      Tiles::configure(tiles::shapes({{rows, 4 * columns}, {rows, 64}, {kSide, 4 * columns}}));
      Tiles::template zero<0>();
      for (int64_t p = 0; p < k; p += kDepth) {
        if (p + kDepth <= k) {
          Tiles::template load<1>(x.a + i * k + p, k);
        } else {
          pad(x, i, rows, p, rest);
          Tiles::template load<1>(rest, kDepth);
        }
        Tiles::template load<2>(packed + p / 4 * kSide, 64);
        Tiles::template dot_ss<0, 1, 2>();
      }
      Tiles::template store<0>(sums, 64);
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t s = 0; s < columns; ++s)
          x.c[(i + r) * n + j + s] = float(sums[r * kSide + s]) * x.scale[j + s];
    }
  }
  Tiles::release();
}

void run(const MatmulInt8::Args<float>& x) {
  static thread_local Scratch scratch;
  auto* packed = reinterpret_cast<uint32_t*>(scratch.floats((x.shape.k + kDepth) / 4 * kSide));
  tiles::on_tiles([&](auto tiles) { multiply<decltype(tiles)>(x, packed); });
}

std::string supported(const MatmulInt8::Shape&, const Host&) { return why_no_tiles(); }

KLAB_VARIANT(MatmulInt8, {.run = run,
                          .parent = "02_loop_order",
                          .tiles = {kSide, kDepth},
                          .expect = {.shape = {512, 512, 512}, .over_parent = 10},
                          .supported = supported});

}  // namespace
}  // namespace klab
