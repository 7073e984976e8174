// matmul_bf16.cpu.08_amx_panels: parts of k that stay in L1, panels of A that stay in L2.
//
// CHANGE    512 depths of a strip of B are 32 KB, which stay in L1 while 512 rows of A, 512 KB of that depth, pass from L2; up to eight
//           strips are packed and multiplied with the same panel. Sums are stored after 512 depths and loaded again for the next.
// EXPECT    a block of 2 x 2 tiles loads 4 KB for 64 cycles of products. In the parent a strip of 2048 depths has 128 KB and A 8 MB, so all
//           of them come from L2 and, once for each strip, from L3: 64 times 8 MB, 30 bytes a nanosecond and core at the unit's rate.
//           Here half of the bytes come from L1, and A is read from L3 once for eight strips. Loading and storing sums is 100 of 1100
//           cycles. At least 1.2 times the parent at 2048 cubed; at 512 nothing.
// NUMERICS  the parent's, bit for bit.
// NEEDS     AMX. Where the processor has none, a model does the same and is not timed.
#include <omp.h>

#include <algorithm>
#include <string>

#include "harness/core/registrar.h"
#include "kernels/common/scratch.h"
#include "kernels/common/tiles.h"
#include "reference/matmul_bf16/matmul_bf16.h"

namespace klab {
namespace {

using Args = MatmulBf16::Args<float>;
using Factor = Bfloat16;

template <class Tiles, int sums, int a, int b>
void dot() {
  Tiles::template dot_bf16<sums, a, b>();
}

#include "kernels/common/matmul/06_amx_blocks-inl.h"

#include "kernels/matmul_bf16/cpu/06_amx_blocks-inl.h"

constexpr int64_t kPart = 512, kPanel = 512;  // depths of a strip, rows of A
constexpr int64_t kGroup = 8;                 // strips that share a panel

/// Adds the products of depths [p, end) to up to 32 rows of C from (i, j) on; depth 0 begins them.
template <class Tiles, bool lower, bool right>
void add_block(const Args& x, int64_t i, int64_t j, int64_t p, int64_t end, const uint32_t* packed) {
  const int64_t n = x.shape.n;
  float* const c = x.c + i * n + j;
  if (p == 0) {
    zero_sums<Tiles, lower, right>();
  } else {
    Tiles::template load<0>(c, 4 * n);
    if constexpr (right) Tiles::template load<1>(c + kSide, 4 * n);
    if constexpr (lower) Tiles::template load<2>(c + kSide * n, 4 * n);
    if constexpr (lower && right) Tiles::template load<3>(c + kSide * n + kSide, 4 * n);
  }
  for (; p < end; p += kDepth) add_products<Tiles, lower, right>(x, i, p, packed);
  store_sums<Tiles, lower, right>(c, n);
}

/// Adds the products of depths [p, end) to rows [i, last) of C, columns [j, j + 32).
template <class Tiles>
void add_strip(const Args& x, int64_t j, int64_t p, int64_t end, const uint32_t* packed, int64_t i,
               int64_t last) {
  const int64_t columns = std::min(kBlock, x.shape.n - j);
  const bool right = columns > kSide;
  for (int64_t configured = 0; i < last; i += kBlock) {
    const int64_t rows = std::min(kBlock, last - i);
    if (rows != configured) configure<Tiles>(rows, columns);
    configured = rows;
    if (rows > kSide)
      right ? add_block<Tiles, true, true>(x, i, j, p, end, packed)
            : add_block<Tiles, true, false>(x, i, j, p, end, packed);
    else
      right ? add_block<Tiles, false, true>(x, i, j, p, end, packed)
            : add_block<Tiles, false, false>(x, i, j, p, end, packed);
  }
}

/// Rows [first, last) of C, of `strips` strips from column j on; each has `words` packed words.
template <class Tiles>
void group(const Args& x, int64_t j, int64_t strips, int64_t first, int64_t last, uint32_t* packed,
           int64_t words) {
  for (int64_t s = 0; s < strips; ++s) pack(x, j + s * kBlock, packed + s * words);
  for (; first < last; first += kPanel) {
    int64_t p = 0;
    do {  // once also where k is 0
      const int64_t end = std::min(x.shape.k, p + kPart);
      for (int64_t s = 0; s < strips; ++s)
        add_strip<Tiles>(x, j + s * kBlock, p, end, packed + s * words, first,
                         std::min(last, first + kPanel));
      p += kPart;
    } while (p < x.shape.k);
  }
}

void run(const Args& x) {
  constexpr double kEnough = 1 << 20;  // products worth waking a team for
  const auto [m, n, k] = x.shape;
  const int64_t strips = (n + kBlock - 1) / kBlock, blocks = (m + kBlock - 1) / kBlock;
  const int team = double(m) * double(n) * double(k) < kEnough ? 1 : omp_get_max_threads();
  const int64_t together = std::clamp<int64_t>(strips / team, 1, kGroup);
  const int64_t groups = (strips + together - 1) / together;
  // Few groups are cut across, in whole blocks of rows.
  const int64_t cuts = std::clamp<int64_t>((team + groups - 1) / std::max<int64_t>(groups, 1), 1,
                                           std::max<int64_t>(blocks, 1));
#pragma omp parallel num_threads(team)
  tiles::on_tiles([&](auto tiles) {
    static thread_local Scratch scratch;
    const int64_t words = (x.shape.k + kDepth) / kPerWord * kBlock;
    auto* packed = reinterpret_cast<uint32_t*>(scratch.floats(together * words));
#pragma omp for schedule(static)
    for (int64_t part = 0; part < groups * cuts; ++part) {
      const int64_t strip = part / cuts * together, cut = part % cuts;
      group<decltype(tiles)>(x, strip * kBlock, std::min(together, strips - strip),
                             blocks * cut / cuts * kBlock,
                             std::min(x.shape.m, blocks * (cut + 1) / cuts * kBlock), packed, words);
    }
    tiles.release();
  });
}

std::string supported(const MatmulBf16::Shape&, const Host&) { return why_no_tiles(); }

KLAB_VARIANT(MatmulBf16, {.run = run,
                          .parent = "07_amx_threads",
                          .tiles = {kSide, kBlock, kDepth, kPart},
                          .expect = {.shape = {2048, 2048, 2048}, .over_parent = 1.2},
                          .when = {{2048, 2048, 2048}, "a strip of B outgrows L1, and A L2"},
                          .supported = supported});

}  // namespace
}  // namespace klab
