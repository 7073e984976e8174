// mlp_bwd.cpu.08_prefetch: the next tile's samples are prefetched while this one is computed.
//
// CHANGE    every block of rows of the layers' products first prefetches three rows: of this tile's d_x, to be
//           written, then of the next tile's x and d_y. Rows are n floats apart, so a tile begins on pages
//           and lines that no hardware prefetcher predicts.
// EXPECT    less than in the forward, a few percent: three times the arithmetic for not quite twice the
//           rows.
// NUMERICS  as the parent: the same sums, so the same bits.
// NEEDS     as the parent.
#include <omp.h>

#include <algorithm>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/mlp/prefetch_rows.h"
#include "kernels/common/simd.h"
#include "reference/mlp_bwd/mlp_bwd.h"

#include "hwy/aligned_allocator.h"
#include "hwy/contrib/math/math-inl.h"
#include "kernels/common/transpose_block-inl.h"

KLAB_SIMD_BEGIN();

using Tag = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Tag>;
constexpr int64_t kTile = 64;  // samples; a multiple of kVectors vectors of at most 16 lanes
constexpr int64_t kPad = 16;   // columns of a weight matrix are padded to a multiple: whole vectors
#include "kernels/mlp_bwd/cpu/05_register_tile-inl.h"

#include "kernels/mlp_bwd/cpu/04_simd-inl.h"

#include "kernels/mlp_bwd/cpu/06_simd_tile-inl.h"

using Ahead = PrefetchRows<kTile>;

/// out[rows][kTile] = w h[terms][kTile]; rows of out are out_stride floats apart.
template <End end>
void product(const float* w, int64_t rows, int64_t terms, const float* h, const float* gate, float* out,
             int64_t out_stride, Ahead& ahead) {
  constexpr decltype(&product_rows<end, 1>) kProducts[] = {product_rows<end, 1>, product_rows<end, 2>,
                                                           product_rows<end, 3>, product_rows<end, 4>,
                                                           product_rows<end, 5>, product_rows<end, 6>};
  for (int64_t r = 0; r < rows; r += kRows, w += kRows * terms, out += kRows * out_stride) {
    ahead.step(3);
    const float* g = end == End::gate ? gate + r * kTile : nullptr;
    kProducts[std::min(kRows, rows - r) - 1](w, terms, h, g, out, out_stride);
  }
}

/// One tile: forward, then back; `more`: the next one is whole. Adds to w.sums and writes d_x.
void tile(const MlpBwd::Args<float>& x, int64_t i, int64_t count, bool more, Work& w) {
  const MlpBwd::Shape& s = x.shape;
  Ahead ahead;
  if (count == kTile) ahead.add(x.d_x + i, s.in, s.n, true);
  if (more) ahead.add(x.x + i + kTile, s.in, s.n, false);
  if (more) ahead.add(x.d_y + i + kTile, s.out, s.n, false);
  load_tile(x.x + i, s.in, s.n, count, w.h);
  for (int64_t l = 0; l < s.hidden; ++l)
    product<End::relu>(w.packed + s.weight_begin(l), s.width, s.from(l), w.h + l * w.size, nullptr,
                       w.h + (l + 1) * w.size, kTile, ahead);
  load_tile(x.d_y + i, s.out, s.n, count, w.d);
  if (s.logistic) {
    product<End::none>(w.packed + s.weight_begin(s.hidden), s.out, s.width, w.h + s.hidden * w.size, nullptr,
                       w.next, kTile, ahead);
    logistic_gradient(w.next, s.out * kTile, w.d);
  }
  for (int64_t l = s.hidden; l >= 0; --l) {
    const int64_t from = s.from(l), to = s.to(l), pad = padded(from);
    const float* h = w.h + l * w.size;
    transpose(h, from, pad, w.transposed);
    weight_gradient(w.d, to, w.transposed, pad, w.sums + w.layer_begin[size_t(l)]);
    const float* w_t = w.packed_transposed + s.weight_begin(l);
    const bool direct = l == 0 && count == kTile;
    if (l > 0)
      product<End::gate>(w_t, from, to, w.d, h, w.next, kTile, ahead);
    else
      product<End::none>(w_t, from, to, w.d, nullptr, direct ? x.d_x + i : w.next, direct ? s.n : kTile,
                         ahead);
    std::swap(w.d, w.next);
  }
  ahead.step(s.in + s.out + s.in);
  if (count < kTile)
    for (int64_t c = 0; c < s.in; ++c) std::copy_n(w.d + c * kTile, count, x.d_x + c * s.n + i);
}

/// Samples [begin, end): writes d_x and, to `gradient`, which is laid out as the weights, these samples'
/// sums.
void network(const MlpBwd::Args<float>& x, int64_t begin, int64_t end, float* gradient) {
  const MlpBwd::Shape& s = x.shape;
  Work w(x);
  for (int64_t i = begin; i < end; i += kTile) tile(x, i, std::min(kTile, end - i), i + 2 * kTile <= end, w);
  for (int64_t l = 0; l < s.layers(); ++l)
    for (int64_t r = 0; r < s.to(l); ++r)
      gradient = std::copy_n(w.sums + w.layer_begin[size_t(l)] + r * padded(s.from(l)), s.from(l), gradient);
}

KLAB_SIMD_ONCE(network);

#if HWY_ONCE
constexpr int64_t kShare = 64;  // threads begin at multiples of the tile

#include "kernels/mlp_bwd/cpu/07_threads_run-inl.h"

KLAB_VARIANT(MlpBwd,
             {.run = run,
              .parent = "07_threads",
              .forward = "07_prefetch",
              .expect = {.shape = {1 << 18, 32, 64, 2, 3, 1}, .over_parent = 1.0},
              .when = {{1 << 18, 32, 64, 1, 16, 0}, "half the arithmetic for each line that is waited for"},
              .was = {"06_prefetch"}});
KLAB_SIMD_CLOSE();
#endif
