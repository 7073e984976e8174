// mlp_narrow_fwd.cpu.02_widened_once: the weights become floats once a call, in a cache.
//
// CHANGE    a call widens all weights into an array that it keeps, and then multiplies floats: tiles of 64 samples go through all
//           layers, six units by four vectors of them in registers, and threads share tiles out.
// EXPECT    a network has some ten thousand weights and a call some hundred thousand samples: widening is nothing, and the rest is
//           mlp_fwd with floats. At least 8 times the parent.
// NUMERICS  float; a weight is rounded once where it is multiplied with its factor, sums are in order.
// NEEDS     an array of floats as large as one network, while a call lasts.
#include <omp.h>

#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/scratch.h"
#include "kernels/common/simd.h"
#include "reference/mlp_narrow_fwd/mlp_narrow_fwd.h"

#include "hwy/aligned_allocator.h"
#include "hwy/contrib/math/math-inl.h"

KLAB_SIMD_BEGIN();

using Tag = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Tag>;
constexpr int64_t kTile = 64;  // samples; a multiple of kVectors vectors of at most 16 lanes
constexpr int64_t kRows = 6;
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
constexpr int64_t kVectors = 2;  // 16 registers: 12 sums, 2 inputs, 1 weight
#else
constexpr int64_t kVectors = 4;  // 32 registers: 24 sums, 4 inputs, 1 weight
#endif

/// R rows of out = w h for the tile h[from][kTile]. The maximum's operands are in this order so that a NaN
/// stays one.
template <int64_t R>
void register_tile(const float* HWY_RESTRICT w, int64_t from, const float* HWY_RESTRICT h, bool relu,
                   float* HWY_RESTRICT out) {
  const Tag d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  for (int64_t t = 0; t < kTile; t += kVectors * lanes) {
    Vector sum[R][kVectors];
    for (int64_t r = 0; r < R; ++r)
      for (int64_t v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
    for (int64_t k = 0; k < from; ++k) {
      Vector in[kVectors];
      for (int64_t v = 0; v < kVectors; ++v) in[v] = hn::Load(d, h + k * kTile + t + v * lanes);
      for (int64_t r = 0; r < R; ++r) {
        const Vector weight = hn::Set(d, w[r * from + k]);
        for (int64_t v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(weight, in[v], sum[r][v]);
      }
    }
    for (int64_t r = 0; r < R; ++r)
      for (int64_t v = 0; v < kVectors; ++v)
        hn::Store(relu ? hn::Max(hn::Zero(d), sum[r][v]) : sum[r][v], d, out + r * kTile + t + v * lanes);
  }
}

/// out[to][kTile] = w h[from][kTile].
void layer(const float* w, int64_t to, int64_t from, const float* h, bool relu, float* out) {
  constexpr decltype(&register_tile<1>) kTiles[] = {register_tile<1>, register_tile<2>, register_tile<3>,
                                                    register_tile<4>, register_tile<5>, register_tile<6>};
  for (int64_t r = 0; r < to; r += kRows)
    kTiles[std::min(kRows, to - r) - 1](w + r * from, from, h, relu, out + r * kTile);
}

/// z = 1/(1 + exp(-z)) in place. Beyond 87 the result is 0 or 1 to float's precision, and exp stays finite.
void logistic(float* z, int64_t count) {
  const Tag d;
  const Vector one = hn::Set(d, 1.0F), limit = hn::Set(d, 87.0F);
  for (int64_t t = 0; t < count; t += int64_t(hn::Lanes(d))) {
    const Vector v = hn::Load(d, z + t), clamped = hn::Min(limit, hn::Max(hn::Neg(limit), v));
    const Vector y = hn::Div(one, hn::Add(one, hn::Exp(d, hn::Neg(clamped))));
    hn::Store(hn::IfThenElse(hn::IsNaN(v), v, y), d, z + t);  // exp(NaN) is 0 in Highway
  }
}

/// Samples [begin, end), with the weights as floats.
void network(const MlpNarrowFwd::Args<float>& x, const float* weights, int64_t begin, int64_t end) {
  const MlpFwd::Shape s = x.shape.network();
  const int64_t rows = std::max({s.in, s.width, s.out});
  const auto tiles = hwy::AllocateAligned<float>(size_t(2 * rows * kTile));
  float *h = tiles.get(), *next = h + rows * kTile;
  for (int64_t i = begin; i < end; i += kTile) {
    const int64_t count = std::min(kTile, end - i);
    for (int64_t c = 0; c < s.in; ++c)
      std::fill(std::copy_n(x.x + c * s.n + i, count, h + c * kTile), h + (c + 1) * kTile, 0.0F);
    for (int64_t l = 0; l < s.layers(); ++l) {
      layer(weights + s.weight_begin(l), s.to(l), s.from(l), h, l < s.hidden, next);
      std::swap(h, next);
    }
    if (s.logistic) logistic(h, s.out * kTile);
    for (int64_t r = 0; r < s.out; ++r) std::copy_n(h + r * kTile, count, x.y + r * s.n + i);
  }
}

KLAB_SIMD_END(network);

#if HWY_ONCE
namespace klab {
namespace {

constexpr int64_t kShare = 64;  // threads begin at multiples of the tile

void run(const MlpNarrowFwd::Args<float>& x) {
  static thread_local Scratch scratch;
  float* const weights = scratch.floats(x.shape.weights());
  widen_weights(x, weights);
  const int64_t n = x.shape.n, tiles = (n + kShare - 1) / kShare;
#pragma omp parallel
  {
    const int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
    const int64_t begin = tiles * me / team * kShare, end = std::min(n, tiles * (me + 1) / team * kShare);
    if (begin < end) HWY_DYNAMIC_DISPATCH(network)(x, weights, begin, end);
  }
}

KLAB_VARIANT(MlpNarrowFwd, {.run = run,
                            .parent = "01_naive",
                            .tiles = {kShare},
                            .expect = {.shape = {1 << 16, 32, 64, 2, 3, 1, 2}, .over_parent = 8}});

}  // namespace
}  // namespace klab
#endif
