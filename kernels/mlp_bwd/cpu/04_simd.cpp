// mlp_bwd.cpu.04_simd: the loops over a tile in the machine's widest vectors.
//
// CHANGE    four vectors of samples of one unit are summed at a time: the sums stay in registers over all inputs of the
//           unit, where the parent stored and loaded them again for each. The dot product of two rows of a tile is four
//           multiply-adds, and one sum across lanes. The logistic's derivative is computed in vectors, too.
// EXPECT    16 lanes or 8 where the compiler had 4, one load in place of two loads and a store for each multiply-add of two
//           of the three products: at least twice the parent. The third product pays for its sum across lanes, some ten
//           instructions for four multiply-adds.
// NUMERICS  float, multiply and add fused.
// NEEDS     as the parent.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/mlp_bwd/mlp_bwd.h"

#include "hwy/aligned_allocator.h"
#include "hwy/contrib/math/math-inl.h"

KLAB_SIMD_BEGIN();

using Tag = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Tag>;
constexpr int64_t kTile = 64;    // samples; a multiple of kVectors vectors of at most 16 lanes
constexpr int64_t kVectors = 4;  // sums at a time

/// sum[j] = Σ_k w[k·w_stride] h[k][j].
void combine(const float* w, int64_t w_stride, int64_t terms, const float* HWY_RESTRICT h,
             float* HWY_RESTRICT sum) {
  const Tag d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  for (int64_t t = 0; t < kTile; t += kVectors * lanes) {
    Vector part[kVectors];
    for (Vector& p : part) p = hn::Zero(d);
    for (int64_t k = 0; k < terms; ++k) {
      const Vector weight = hn::Set(d, w[k * w_stride]);
      for (int64_t v = 0; v < kVectors; ++v)
        part[v] = hn::MulAdd(weight, hn::Load(d, h + k * kTile + t + v * lanes), part[v]);
    }
    for (int64_t v = 0; v < kVectors; ++v) hn::Store(part[v], d, sum + t + v * lanes);
  }
}

float dot(const float* a, const float* b) {
  const Tag d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  Vector sum = hn::Zero(d);
  for (int64_t i = 0; i < kTile; i += lanes) sum = hn::MulAdd(hn::Load(d, a + i), hn::Load(d, b + i), sum);
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

/// out[to][kTile] = w[to,from] h[from][kTile], negative results cut off if `relu`.
void forward(const float* w, int64_t to, int64_t from, const float* h, bool relu, float* out) {
  const Tag tag;
  const int64_t lanes = int64_t(hn::Lanes(tag));
  for (int64_t r = 0; r < to; ++r, out += kTile) {
    combine(w + r * from, 1, from, h, out);
    if (relu)
      for (int64_t j = 0; j < kTile; j += lanes)  // in this order a NaN stays one
        hn::Store(hn::Max(hn::Zero(tag), hn::Load(tag, out + j)), tag, out + j);
  }
}

/// out[from][kTile] = w[to,from]^T d[to][kTile], where `alive` is positive or null.
void backward(const float* w, int64_t to, int64_t from, const float* d, const float* alive, float* out) {
  const Tag tag;
  const int64_t lanes = int64_t(hn::Lanes(tag));
  for (int64_t c = 0; c < from; ++c) {
    combine(w + c, from, to, d, out + c * kTile);
    if (alive)
      for (int64_t j = c * kTile; j < (c + 1) * kTile; j += lanes) {
        const auto open = hn::Gt(hn::Load(tag, alive + j), hn::Zero(tag));
        hn::Store(hn::IfThenElseZero(open, hn::Load(tag, out + j)), tag, out + j);
      }
  }
}

#include "kernels/mlp_bwd/cpu/04_simd-inl.h"

void network(const MlpBwd::Args<float>& x) {
  const MlpBwd::Shape& s = x.shape;
  const int64_t size = std::max({s.in, s.width, s.out}) * kTile;
  const auto tiles = hwy::AllocateAligned<float>(size_t((s.hidden + 3) * size));
  const auto activations = [&](int64_t l) { return tiles.get() + l * size; };
  float *d = activations(s.hidden + 1), *next = d + size;
  for (int64_t i = 0; i < s.n; i += kTile) {
    const int64_t count = std::min(kTile, s.n - i);
    load_tile(x.x + i, s.in, s.n, count, activations(0));
    for (int64_t l = 0; l < s.hidden; ++l)
      forward(x.weights + s.weight_begin(l), s.width, s.from(l), activations(l), true, activations(l + 1));
    load_tile(x.d_y + i, s.out, s.n, count, d);
    if (s.logistic) {
      forward(x.weights + s.weight_begin(s.hidden), s.out, s.width, activations(s.hidden), false, next);
      logistic_gradient(next, s.out * kTile, d);
    }
    for (int64_t l = s.hidden; l >= 0; --l) {
      const int64_t from = s.from(l), to = s.to(l), begin = s.weight_begin(l);
      for (int64_t r = 0; r < to; ++r)
        for (int64_t c = 0; c < from; ++c)
          x.d_weights[begin + r * from + c] += dot(d + r * kTile, activations(l) + c * kTile);
      backward(x.weights + begin, to, from, d, l == 0 ? nullptr : activations(l), next);
      std::swap(d, next);
    }
    for (int64_t c = 0; c < s.in; ++c) std::copy_n(d + c * kTile, count, x.d_x + c * s.n + i);
  }
}

KLAB_SIMD_ONCE(network);

#if HWY_ONCE
void run(const MlpBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(network)(x); }

KLAB_VARIANT(MlpBwd, {.run = run,
                      .parent = "03_fused_tile",
                      .forward = "03_simd_tile",
                      .expect = {.shape = {1 << 18, 32, 64, 2, 3, 1}, .over_parent = 2}});
KLAB_SIMD_CLOSE();
#endif
