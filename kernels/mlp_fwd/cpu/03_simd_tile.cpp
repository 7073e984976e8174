// mlp_fwd.cpu.03_simd_tile: a register tile of units x samples.
//
// CHANGE    each layer's product is computed in tiles of 6 units by 4 vectors of samples (6 by 2 where there
//           are only 16 vector registers), whose sums stay in registers. Lanes are samples: a weight is
//           broadcast, activations are loaded as they lie. Weights are copied once a call so that the six
//           that are needed together are neighbors.
// EXPECT    close to the arithmetic peak where the activations come from the caches, less here: rows are n
//           floats apart, for a power of two that maps all rows of a tile to the same few sets of L1.
// NUMERICS  sums in the parent's order, multiply and add fused.
// NEEDS     2·width·n floats of scratch, kept between calls.
// TRIED     see NOTES.md, cpu.03_simd_tile
#include <algorithm>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/mlp_fwd/mlp_fwd.h"

#include "hwy/contrib/math/math-inl.h"

KLAB_SIMD_BEGIN();

using Tag = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Tag>;
constexpr int64_t kRows = 6;
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
constexpr int64_t kVectors = 2;  // 16 registers: 12 sums, 2 inputs, 1 weight
#else
constexpr int64_t kVectors = 4;  // 32 registers: 24 sums, 4 inputs, 1 weight
#endif

/// packed[k][R] for each block of up to kRows rows of w[to][from], one block after the other.
void pack(const float* w, int64_t to, int64_t from, float* packed) {
  for (int64_t r = 0; r < to; r += kRows)
    for (int64_t k = 0; k < from; ++k)
      for (int64_t j = r; j < std::min(r + kRows, to); ++j) *packed++ = w[j * from + k];
}

/// R rows by kVectors vectors of out = w h. The maximum's operands are in this order so that a NaN stays one.
template <int64_t R>
void register_tile(const float* HWY_RESTRICT w, int64_t from, const float* HWY_RESTRICT h, int64_t h_stride,
                   bool relu, float* HWY_RESTRICT out, int64_t out_stride) {
  const Tag d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  Vector sum[R][kVectors];
  for (int64_t r = 0; r < R; ++r)
    for (int64_t v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
  for (int64_t k = 0; k < from; ++k) {
    Vector in[kVectors];
    for (int64_t v = 0; v < kVectors; ++v) in[v] = hn::LoadU(d, h + k * h_stride + v * lanes);
    for (int64_t r = 0; r < R; ++r) {
      const Vector weight = hn::Set(d, w[k * R + r]);
      for (int64_t v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(weight, in[v], sum[r][v]);
    }
  }
  for (int64_t r = 0; r < R; ++r)
    for (int64_t v = 0; v < kVectors; ++v) {
      const Vector z = relu ? hn::Max(hn::Zero(d), sum[r][v]) : sum[r][v];
      hn::StoreU(z, d, out + r * out_stride + v * lanes);
    }
}

/// All rows of one layer for kVectors vectors of samples.
void column(const float* w, int64_t to, int64_t from, const float* h, int64_t h_stride, bool relu, float* out,
            int64_t out_stride) {
  for (int64_t r = 0; r < to; r += kRows, w += kRows * from, out += kRows * out_stride) {
    switch (std::min(kRows, to - r)) {
      case 1:
        register_tile<1>(w, from, h, h_stride, relu, out, out_stride);
        break;
      case 2:
        register_tile<2>(w, from, h, h_stride, relu, out, out_stride);
        break;
      case 3:
        register_tile<3>(w, from, h, h_stride, relu, out, out_stride);
        break;
      case 4:
        register_tile<4>(w, from, h, h_stride, relu, out, out_stride);
        break;
      case 5:
        register_tile<5>(w, from, h, h_stride, relu, out, out_stride);
        break;
      default:
        register_tile<6>(w, from, h, h_stride, relu, out, out_stride);
    }
  }
}

/// out[to,n] = w h[from,n]. The last samples, fewer than a tile, are computed in a padded copy.
void layer(const float* packed, int64_t to, int64_t from, const float* h, int64_t n, bool relu, float* out) {
  const int64_t samples = kVectors * int64_t(hn::Lanes(Tag()));
  int64_t i = 0;
  for (; i + samples <= n; i += samples) column(packed, to, from, h + i, n, relu, out + i, n);
  if (i == n) return;
  std::vector<float> in(size_t(from * samples)), last(size_t(to * samples));
  for (int64_t k = 0; k < from; ++k) std::copy_n(h + k * n + i, n - i, in.data() + k * samples);
  column(packed, to, from, in.data(), samples, relu, last.data(), samples);
  for (int64_t r = 0; r < to; ++r) std::copy_n(last.data() + r * samples, n - i, out + r * n + i);
}

/// z = 1/(1 + exp(-z)), in place. Beyond 87 the result is 0 or 1 to float's precision, and exp stays finite.
void logistic(float* z, int64_t n) {
  const Tag d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const Vector one = hn::Set(d, 1.0F), limit = hn::Set(d, 87.0F);
  for (int64_t i = 0; i < n; i += lanes) {
    alignas(64) float last[16] = {};
    float* p = z + i;
    if (i + lanes > n) std::copy_n(z + i, n - i, p = last);
    const Vector v = hn::LoadU(d, p), clamped = hn::Min(limit, hn::Max(hn::Neg(limit), v));
    const Vector y = hn::Div(one, hn::Add(one, hn::Exp(d, hn::Neg(clamped))));
    hn::StoreU(hn::IfThenElse(hn::IsNaN(v), v, y), d, p);  // exp(NaN) is 0 in Highway
    if (p == last) std::copy_n(last, n - i, z + i);
  }
}

void network(const MlpFwd::Args<float>& x) {
  const MlpFwd::Shape& s = x.shape;
  static thread_local std::vector<float> scratch, packed;  // memory only: nothing in it outlives a call
  scratch.resize(size_t(2 * s.width * s.n));
  packed.resize(size_t(s.weights()));
  float* activations[2] = {scratch.data(), scratch.data() + s.width * s.n};
  const float* h = x.x;
  for (int64_t l = 0; l < s.layers(); ++l) {
    float* w = packed.data() + s.weight_begin(l);
    pack(x.weights + s.weight_begin(l), s.to(l), s.from(l), w);
    float* out = l == s.hidden ? x.y : activations[l % 2];
    layer(w, s.to(l), s.from(l), h, s.n, l < s.hidden, out);
    h = out;
  }
  if (s.logistic) logistic(x.y, s.out * s.n);
}

KLAB_SIMD_ONCE(network);

#if HWY_ONCE
void run(const MlpFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(network)(x); }

KLAB_VARIANT(MlpFwd, {.run = run,
                      .parent = "02_layer_by_layer",
                      .expect = {.shape = {1 << 18, 32, 64, 1, 16, 0}, .over_parent = 2}});
KLAB_SIMD_CLOSE();
#endif
