// mlp_bwd.cpu.06_simd_tile: a register tile in all three products, lanes that are weights.
//
// CHANGE    the gradient of the weights sums over samples, which are the lanes: the tile of activations is transposed
//           first, in registers, so that lanes are columns of d_weights. 6 rows by 4 vectors of sums stay in registers
//           over the tile, and nothing is summed across lanes.
// EXPECT    close to the arithmetic peak. A 64x64 layer's gradient is 16384 multiply-adds (16 lanes) for a tile, with a
//           load or a broadcast for every 2.4 of them; transposing the inputs adds 512 shuffles and 256 stores. In the
//           parent it was as many multiply-adds with two loads for each, and 4096 sums across lanes of some ten
//           instructions each. At least 1.5 times the parent.
// NUMERICS  float, multiply and add fused; a weight's gradient is one chain over all samples, added to
//           d_weights at the end.
// NEEDS     (hidden + 4) tiles, two copies of the weights and one of their gradients; nothing that grows
//           with n.
// TRIED     see NOTES.md, cpu.06_simd_tile
#include <algorithm>
#include <vector>

#include "harness/core/registrar.h"
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
constexpr int64_t kRows = 6;
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
constexpr int64_t kVectors = 2;  // 16 registers: 12 sums, 2 inputs, 1 weight
#else
constexpr int64_t kVectors = 4;  // 32 registers: 24 sums, 4 inputs, 1 weight
#endif

constexpr int64_t padded(int64_t columns) { return (columns + kPad - 1) / kPad * kPad; }

/// packed[k][R] for each block of up to kRows rows of a matrix m(j, k) = w[j·row + k·column].
void pack(const float* w, int64_t rows, int64_t columns, int64_t row, int64_t column, float* packed) {
  for (int64_t r = 0; r < rows; r += kRows)
    for (int64_t k = 0; k < columns; ++k)
      for (int64_t j = r; j < std::min(r + kRows, rows); ++j) *packed++ = w[j * row + k * column];
}

/// Operation on a sum before it is stored.
enum class End { none, relu, gate };

/// R rows of out = w h for the tile h[terms][kTile]. With End::gate only where `gate`, a tile, is positive.
template <End end, int64_t R>
void product_rows(const float* HWY_RESTRICT w, int64_t terms, const float* HWY_RESTRICT h,
                  const float* HWY_RESTRICT gate, float* HWY_RESTRICT out, int64_t out_stride) {
  const Tag d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  for (int64_t t = 0; t < kTile; t += kVectors * lanes) {
    Vector sum[R][kVectors];
    for (int64_t r = 0; r < R; ++r)
      for (int64_t v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
#pragma GCC unroll 4  // of the instructions of a turn of 12 multiply-adds, counting would be a sixth
#endif
    for (int64_t k = 0; k < terms; ++k) {
      Vector in[kVectors];
      for (int64_t v = 0; v < kVectors; ++v) in[v] = hn::Load(d, h + k * kTile + t + v * lanes);
      for (int64_t r = 0; r < R; ++r) {
        const Vector weight = hn::Set(d, w[k * R + r]);
        for (int64_t v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(weight, in[v], sum[r][v]);
      }
    }
    for (int64_t r = 0; r < R; ++r)
      for (int64_t v = 0; v < kVectors; ++v) {
        Vector z = sum[r][v];
        if constexpr (end == End::relu) z = hn::Max(hn::Zero(d), z);  // in this order a NaN stays one
        if constexpr (end == End::gate)
          z = hn::IfThenElseZero(hn::Gt(hn::Load(d, gate + r * kTile + t + v * lanes), hn::Zero(d)), z);
        hn::StoreU(z, d, out + r * out_stride + t + v * lanes);
      }
  }
}

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

/// t[kTile][pad] = transpose of h[rows][kTile]. Rows of h are there up to a multiple of 4.
void transpose(const float* h, int64_t rows, int64_t pad, float* t) {
  transpose_block(h, kTile, t, pad, (rows + 3) / 4 * 4, kTile);
}

/// R rows by V vectors of sums[to][pad] += d[to][kTile] t[kTile][pad].
template <int64_t R, int64_t V>
void gradient_tile(const float* HWY_RESTRICT d_tile, const float* HWY_RESTRICT t, int64_t pad,
                   float* HWY_RESTRICT sums) {
  const Tag d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  Vector sum[R][V];
  for (int64_t r = 0; r < R; ++r)
    for (int64_t v = 0; v < V; ++v) sum[r][v] = hn::Load(d, sums + r * pad + v * lanes);
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
#pragma GCC unroll 4  // of the instructions of a turn of 12 multiply-adds, counting would be a sixth
#endif
  for (int64_t i = 0; i < kTile; ++i) {
    Vector in[V];
    for (int64_t v = 0; v < V; ++v) in[v] = hn::Load(d, t + i * pad + v * lanes);
    for (int64_t r = 0; r < R; ++r) {
      const Vector gradient = hn::Set(d, d_tile[r * kTile + i]);
      for (int64_t v = 0; v < V; ++v) sum[r][v] = hn::MulAdd(gradient, in[v], sum[r][v]);
    }
  }
  for (int64_t r = 0; r < R; ++r)
    for (int64_t v = 0; v < V; ++v) hn::Store(sum[r][v], d, sums + r * pad + v * lanes);
}

/// R rows of sums: as many vectors at a time as registers allow.
template <int64_t R>
void gradient_rows(const float* d, const float* t, int64_t pad, float* sums) {
  const int64_t lanes = int64_t(hn::Lanes(Tag()));
  int64_t c = 0;
  for (; c + kVectors * lanes <= pad; c += kVectors * lanes)
    gradient_tile<R, kVectors>(d, t + c, pad, sums + c);
  for (; c + 2 * lanes <= pad; c += 2 * lanes) gradient_tile<R, 2>(d, t + c, pad, sums + c);
  for (; c < pad; c += lanes) gradient_tile<R, 1>(d, t + c, pad, sums + c);
}

/// sums[to][pad] += d[to][kTile] t[kTile][pad].
void weight_gradient(const float* d, int64_t to, const float* t, int64_t pad, float* sums) {
  for (int64_t r = 0; r < to; r += kRows, d += kRows * kTile, sums += kRows * pad) {
    switch (std::min(kRows, to - r)) {
      case 1:
        gradient_rows<1>(d, t, pad, sums);
        break;
      case 2:
        gradient_rows<2>(d, t, pad, sums);
        break;
      case 3:
        gradient_rows<3>(d, t, pad, sums);
        break;
      case 4:
        gradient_rows<4>(d, t, pad, sums);
        break;
      case 5:
        gradient_rows<5>(d, t, pad, sums);
        break;
      default:
        gradient_rows<6>(d, t, pad, sums);
    }
  }
}

#include "kernels/mlp_bwd/cpu/04_simd-inl.h"

/// The tiles and weights one pass over the samples works on.
struct Work {
  explicit Work(const MlpBwd::Args<float>& x) {
    const MlpBwd::Shape& s = x.shape;
    size = padded(std::max({s.in, s.width, s.out})) * kTile;
    layer_begin.push_back(0);
    for (int64_t l = 0; l < s.layers(); ++l)
      layer_begin.push_back(layer_begin.back() + s.to(l) * padded(s.from(l)));
    const int64_t floats = 2 * padded(s.weights()) + layer_begin.back() + (s.hidden + 4) * size;
    memory = hwy::AllocateAligned<float>(size_t(floats));
    std::fill_n(memory.get(), floats, 0.0F);
    packed = memory.get();
    packed_transposed = packed + padded(s.weights());
    sums = packed_transposed + padded(s.weights());
    h = sums + layer_begin.back();
    transposed = h + (s.hidden + 1) * size;
    d = transposed + size;
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
  float* sums = nullptr;                      // gradients of the weights, rows padded
  std::vector<int64_t> layer_begin;           // where a layer's sums begin
  float *h = nullptr, *transposed = nullptr;  // hidden + 1 tiles; the transpose of one
  float *d = nullptr, *next = nullptr;        // gradients of the layer in hand and of the one before
};

/// One tile: forward, then back. Adds to w.sums and writes d_x.
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
    const int64_t from = s.from(l), to = s.to(l), pad = padded(from);
    const float* h = w.h + l * w.size;
    transpose(h, from, pad, w.transposed);
    weight_gradient(w.d, to, w.transposed, pad, w.sums + w.layer_begin[size_t(l)]);
    const float* w_t = w.packed_transposed + s.weight_begin(l);
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
  for (int64_t l = 0; l < s.layers(); ++l)
    for (int64_t r = 0; r < s.to(l); ++r)
      for (int64_t c = 0; c < s.from(l); ++c)
        x.d_weights[s.weight_begin(l) + r * s.from(l) + c] +=
            w.sums[w.layer_begin[size_t(l)] + r * padded(s.from(l)) + c];
}

KLAB_SIMD_END(network);

#if HWY_ONCE
namespace klab {
namespace {

void run(const MlpBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(network)(x); }

KLAB_VARIANT(MlpBwd, {.run = run,
                      .parent = "05_register_tile",
                      .forward = "04_fused_tile",
                      .expect = {.shape = {1 << 18, 32, 64, 2, 3, 1}, .over_parent = 1.5},
                      .was = {"04_simd_tile"}});

}  // namespace
}  // namespace klab
#endif
