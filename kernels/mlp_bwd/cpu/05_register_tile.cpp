// mlp_bwd.cpu.05_register_tile: six units at a time share loads.
//
// CHANGE    W h and W^T d keep 6 rows by 4 vectors of samples in registers (6 by 2 where there are only 16),
//           and the weights are packed so that the six lie together.
// EXPECT    of every three products two have 24 multiply-adds for 4 loads and 6 broadcasts, in place of 4 for
//           4 and 1: they come close to the arithmetic peak. The third, the gradient of the weights, stays
//           the parent's dot products and takes most of the time now. 1.2 times the parent or a little more.
// NUMERICS  float, multiply and add fused; sums over units in the parent's order.
// NEEDS     (hidden + 3) tiles and two copies of the weights; nothing that grows with n.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/mlp_bwd/mlp_bwd.h"

#include "hwy/aligned_allocator.h"
#include "hwy/contrib/math/math-inl.h"

KLAB_SIMD_BEGIN();

using Tag = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Tag>;
constexpr int64_t kTile = 64;  // samples; a multiple of kVectors vectors of at most 16 lanes
constexpr int64_t kPad = 16;   // weights are padded to a multiple, so that the data after them is aligned
#include "kernels/mlp_bwd/cpu/05_register_tile-inl.h"

/// out[rows][kTile] = w h[terms][kTile]; rows of out are out_stride floats apart.
template <End end>
void product(const float* w, int64_t rows, int64_t terms, const float* h, const float* gate, float* out,
             int64_t out_stride) {
  constexpr decltype(&product_rows<end, 1>) kProducts[] = {product_rows<end, 1>, product_rows<end, 2>,
                                                           product_rows<end, 3>, product_rows<end, 4>,
                                                           product_rows<end, 5>, product_rows<end, 6>};
  for (int64_t r = 0; r < rows; r += kRows, w += kRows * terms, out += kRows * out_stride) {
    const float* g = end == End::gate ? gate + r * kTile : nullptr;
    kProducts[std::min(kRows, rows - r) - 1](w, terms, h, g, out, out_stride);
  }
}

/// The sum over a tile's samples of a times b.
float dot(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b) {
  const Tag d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  Vector sum = hn::Zero(d);
  for (int64_t t = 0; t < kTile; t += lanes) sum = hn::MulAdd(hn::Load(d, a + t), hn::Load(d, b + t), sum);
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

#include "kernels/mlp_bwd/cpu/04_simd-inl.h"

/// The tiles and weights one pass over the samples works on.
struct Work {
  explicit Work(const MlpBwd::Args<float>& x) {
    const MlpBwd::Shape& s = x.shape;
    size = padded(std::max({s.in, s.width, s.out})) * kTile;
    const int64_t floats = 2 * padded(s.weights()) + (s.hidden + 3) * size;
    memory = hwy::AllocateAligned<float>(size_t(floats));
    std::fill_n(memory.get(), floats, 0.0F);
    packed = memory.get();
    packed_transposed = packed + padded(s.weights());
    h = packed_transposed + padded(s.weights());
    d = h + (s.hidden + 1) * size;
    next = d + size;
    for (int64_t l = 0; l < s.layers(); ++l) {
      const int64_t from = s.from(l), to = s.to(l), begin = s.weight_begin(l);
      pack(x.weights + begin, to, from, from, 1, packed + begin);
      pack(x.weights + begin, from, to, 1, from, packed_transposed + begin);
    }
  }
  hwy::AlignedFreeUniquePtr<float[]> memory;
  int64_t size = 0;  // floats of a tile
  float *packed = nullptr, *packed_transposed = nullptr;
  float* h = nullptr;                   // hidden + 1 tiles
  float *d = nullptr, *next = nullptr;  // gradients of the layer in hand and of the one before
};

/// One tile: forward, then back. Adds to d_weights and writes d_x.
void tile(const MlpBwd::Args<float>& x, int64_t i, int64_t count, Work& w) {
  const MlpBwd::Shape& s = x.shape;
  load_tile(x.x + i, s.in, s.n, count, w.h);
  for (int64_t l = 0; l < s.hidden; ++l)
    product<End::relu>(w.packed + s.weight_begin(l), s.width, s.from(l), w.h + l * w.size, nullptr,
                       w.h + (l + 1) * w.size, kTile);
  load_tile(x.d_y + i, s.out, s.n, count, w.d);
  if (s.logistic) {
    product<End::none>(w.packed + s.weight_begin(s.hidden), s.out, s.width, w.h + s.hidden * w.size, nullptr,
                       w.next, kTile);
    logistic_gradient(w.next, s.out * kTile, w.d);
  }
  for (int64_t l = s.hidden; l >= 0; --l) {
    const int64_t from = s.from(l), to = s.to(l), begin = s.weight_begin(l);
    const float* h = w.h + l * w.size;
    for (int64_t r = 0; r < to; ++r)
      for (int64_t c = 0; c < from; ++c)
        x.d_weights[begin + r * from + c] += dot(w.d + r * kTile, h + c * kTile);
    const float* w_t = w.packed_transposed + begin;
    const bool direct = l == 0 && count == kTile;
    if (l > 0)
      product<End::gate>(w_t, from, to, w.d, h, w.next, kTile);
    else
      product<End::none>(w_t, from, to, w.d, nullptr, direct ? x.d_x + i : w.next, direct ? s.n : kTile);
    std::swap(w.d, w.next);
  }
  if (count < kTile)
    for (int64_t c = 0; c < s.in; ++c) std::copy_n(w.d + c * kTile, count, x.d_x + c * s.n + i);
}

void network(const MlpBwd::Args<float>& x) {
  const MlpBwd::Shape& s = x.shape;
  Work w(x);
  for (int64_t i = 0; i < s.n; i += kTile) tile(x, i, std::min(kTile, s.n - i), w);
}

KLAB_SIMD_ONCE(network);

#if HWY_ONCE
void run(const MlpBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(network)(x); }

KLAB_VARIANT(MlpBwd, {.run = run,
                      .parent = "04_simd",
                      .forward = "04_fused_tile",
                      .expect = {.shape = {1 << 18, 32, 64, 2, 3, 1}, .over_parent = 1.2}});
KLAB_SIMD_CLOSE();
#endif
