// mlp_fwd.cpu.07_prefetch: the next tile's samples are prefetched while this one is computed.
//
// CHANGE    the first layer's blocks of rows each prefetch a share of the next tile's rows of x, and the
//           rows of y this tile is going to write. Rows are n floats apart: every tile begins on in + out
//           pages that no hardware prefetcher predicts.
// EXPECT    a few percent, more on the density network: half the arithmetic for each sample loaded.
// NUMERICS  as the parent: the same sums, so the same bits.
// NEEDS     as the parent.
// TRIED     prefetching x alone: about half of the gain.
#include <omp.h>

#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/mlp_fwd/mlp_fwd.h"

#include "hwy/aligned_allocator.h"
#include "hwy/contrib/math/math-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/common/mlp/04_fused_tile-inl.h"

/// Rows of a tile, stride apart, that are needed soon.
struct Ahead {
  const float* row = nullptr;
  int64_t rows = 0, stride = 0;
};
constexpr int64_t kLine = 16;  // floats of a cache line

/// out[to][kTile] = w h[from][kTile]; rows of out are out_stride floats apart.
void layer(const float* w, int64_t to, int64_t from, const float* h, bool relu, float* out,
           int64_t out_stride, const Ahead& read = {}, const Ahead& write = {}) {
  for (int64_t r = 0; r < to; r += kRows, w += kRows * from, out += kRows * out_stride) {
    const int64_t done = std::min(r + kRows, to);
    // Lines' last floats: where a row does not begin on a line, its first line came with the tile before.
    for (int64_t a = read.rows * r / to; a < read.rows * done / to; ++a)
      for (int64_t t = kLine - 1; t < kTile; t += kLine)
        __builtin_prefetch(read.row + a * read.stride + t, 0);
    for (int64_t a = write.rows * r / to; a < write.rows * done / to; ++a)
      for (int64_t t = kLine - 1; t < kTile; t += kLine)
        __builtin_prefetch(write.row + a * write.stride + t, 1);
    next_rows(to - r, w, from, h, relu, out, out_stride);
  }
}

/// Samples [begin, end).
void network(const MlpFwd::Args<float>& x, int64_t begin, int64_t end) {
  const MlpFwd::Shape& s = x.shape;
  const int64_t rows = std::max({s.in, s.width, s.out});
  const auto packed = hwy::AllocateAligned<float>(size_t(s.weights()));
  const auto tiles = hwy::AllocateAligned<float>(size_t(2 * rows * kTile));
  float *h = tiles.get(), *next = h + rows * kTile;
  for (int64_t l = 0; l < s.layers(); ++l)
    pack(x.weights + s.weight_begin(l), s.to(l), s.from(l), packed.get() + s.weight_begin(l));
  for (int64_t i = begin; i < end; i += kTile) {
    const int64_t count = std::min(kTile, end - i);
    load_tile(x.x + i, s.in, s.n, count, h);
    const bool whole = count == kTile, more = i + 2 * kTile <= end;
    const Ahead read{x.x + i + kTile, more ? s.in : 0, s.n}, write{x.y + i, whole ? s.out : 0, s.n};
    layer(packed.get(), s.width, s.in, h, true, next, kTile, read, write);
    std::swap(h, next);
    for (int64_t l = 1; l < s.hidden; ++l) {
      layer(packed.get() + s.weight_begin(l), s.width, s.width, h, true, next, kTile);
      std::swap(h, next);
    }
    float* out = whole ? x.y + i : next;
    const int64_t stride = whole ? s.n : kTile;
    layer(packed.get() + s.weight_begin(s.hidden), s.out, s.width, h, false, out, stride);
    if (s.logistic) logistic(out, s.out, stride);
    if (!whole)
      for (int64_t r = 0; r < s.out; ++r) std::copy_n(next + r * kTile, count, x.y + r * s.n + i);
  }
}

KLAB_SIMD_ONCE(network);

#if HWY_ONCE
constexpr int64_t kShare = 64;  // threads begin at multiples of the tile

void run(const MlpFwd::Args<float>& x) {
  const int64_t n = x.shape.n, tiles = (n + kShare - 1) / kShare;
#pragma omp parallel
  {
    const int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
    const int64_t begin = tiles * me / team * kShare, end = std::min(n, tiles * (me + 1) / team * kShare);
    if (begin < end) HWY_DYNAMIC_DISPATCH(network)(x, begin, end);
  }
}

KLAB_VARIANT(MlpFwd, {.run = run,
                      .parent = "06_threads",
                      .expect = {.shape = {1 << 18, 32, 64, 2, 3, 1}, .over_parent = 1.0}});
KLAB_SIMD_CLOSE();
#endif
