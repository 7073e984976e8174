// mlp_fwd.cpu.05_bfloat16: activations and weights in 16 bits.
//
// CHANGE    inputs, weights and hidden activations are rounded to bfloat16, two neighbouring channels in one
//           32-bit lane; a multiply-add takes both channels and adds up in float.
// EXPECT    tiles and weights half as large. Twice the peak only where the library's multiply-add is the
//           processor's pairwise instruction; where it is made of two float ones, as here, unpacking comes
//           on top and there is nothing to gain but space: not faster than the parent.
// NUMERICS  rounded to nearest even before every product, float accumulators: unit roundoff 2^-8 an operand.
// NEEDS     nothing; odd numbers of channels are filled up with zeros.
// TRIED     -
#include <algorithm>

#include "harness/core/registrar.h"
#include "reference/mlp_fwd/mlp_fwd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/mlp_fwd/cpu/05_bfloat16.cpp"
#include "hwy/foreach_target.h"  // must come before any other of Highway

#include "hwy/aligned_allocator.h"
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, 16>;
using PairTag = hn::RebindToUnsigned<Tag>;
using Vector = hn::Vec<Tag>;
using Pairs = hn::Vec<PairTag>;  // two channels of one sample a lane, the even one in the lower half
constexpr int64_t kTile = 64;    // samples; a multiple of kVectors vectors of at most 16 lanes
constexpr int64_t kRows = 6;
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
constexpr int64_t kVectors = 1;  // 16 registers: 6 sums of even and 6 of odd channels
#else
constexpr int64_t kVectors = 2;  // 32 registers: 12 and 12
#endif

constexpr int64_t pairs(int64_t channels) { return (channels + 1) / 2; }

/// Upper 16 bits of a float rounded to nearest, ties to even; the lower ones are cleared.
Pairs rounded(Vector v) {
  const PairTag d;
  const Pairs bits = hn::BitCast(d, v);
  const Pairs odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1));
  return hn::And(hn::Add(bits, hn::Add(hn::Set(d, 0x7FFF), odd)), hn::Set(d, 0xFFFF0000U));
}

/// Two rows of a tile into one row of pairs.
void store_pairs(Vector even, Vector odd, uint32_t* out) {
  hn::Store(hn::Or(hn::ShiftRight<16>(rounded(even)), rounded(odd)), PairTag(), out);
}

/// packed[pair][R] for each block of up to kRows rows of w[to][from], one block after the other.
void pack(const float* w, int64_t to, int64_t from, uint32_t* packed) {
  const Tag d;
  alignas(64) uint32_t pair[16];
  for (int64_t r = 0; r < to; r += kRows)
    for (int64_t k = 0; k < from; k += 2)
      for (int64_t j = r; j < std::min(r + kRows, to); ++j) {
        const float* p = w + j * from + k;
        store_pairs(hn::Set(d, p[0]), hn::Set(d, k + 1 < from ? p[1] : 0.0F), pair);
        *packed++ = pair[0];
      }
}

/// even + odd += the sum of both channels' products, in float.
HWY_INLINE void multiply_add(Pairs a, Pairs b, Vector& even, Vector& odd) {
  const Tag d;
#if HWY_TARGET == HWY_SCALAR  // where a vector is one float and no vector holds a pair
  const PairTag dp;
  const Pairs upper = hn::Set(dp, 0xFFFF0000U);
  even = hn::MulAdd(hn::BitCast(d, hn::ShiftLeft<16>(a)), hn::BitCast(d, hn::ShiftLeft<16>(b)), even);
  odd = hn::MulAdd(hn::BitCast(d, hn::And(a, upper)), hn::BitCast(d, hn::And(b, upper)), odd);
#else
  const hn::Repartition<hwy::bfloat16_t, Tag> d16;
  even = hn::ReorderWidenMulAccumulate(d, hn::BitCast(d16, a), hn::BitCast(d16, b), even, odd);
#endif
}

/// R rows of z = w h for kVectors vectors of the tile h[pairs][kTile].
template <int64_t R>
void register_tile(const uint32_t* HWY_RESTRICT w, int64_t pairs_in, const uint32_t* HWY_RESTRICT h,
                   bool relu, float* HWY_RESTRICT out, int64_t out_stride) {
  const Tag d;
  const PairTag dp;
  const int64_t lanes = int64_t(hn::Lanes(d));
  for (int64_t t = 0; t < kTile; t += kVectors * lanes) {
    Vector even[R][kVectors], odd[R][kVectors];
    for (int64_t r = 0; r < R; ++r)
      for (int64_t v = 0; v < kVectors; ++v) even[r][v] = odd[r][v] = hn::Zero(d);
    for (int64_t k = 0; k < pairs_in; ++k) {
      Pairs in[kVectors];
      for (int64_t v = 0; v < kVectors; ++v) in[v] = hn::Load(dp, h + k * kTile + t + v * lanes);
      for (int64_t r = 0; r < R; ++r) {
        const Pairs weight = hn::Set(dp, w[k * R + r]);
        for (int64_t v = 0; v < kVectors; ++v) multiply_add(weight, in[v], even[r][v], odd[r][v]);
      }
    }
    for (int64_t r = 0; r < R; ++r)
      for (int64_t v = 0; v < kVectors; ++v) {
        const Vector z = hn::Add(even[r][v], odd[r][v]);
        hn::StoreU(relu ? hn::Max(hn::Zero(d), z) : z, d, out + r * out_stride + t + v * lanes);
      }
  }
}

/// Rows [first, first + count) of z = w h; count <= kRows.
void rows(const uint32_t* w, int64_t count, int64_t pairs_in, const uint32_t* h, bool relu, float* out,
          int64_t stride) {
  switch (count) {
    case 1:
      register_tile<1>(w, pairs_in, h, relu, out, stride);
      break;
    case 2:
      register_tile<2>(w, pairs_in, h, relu, out, stride);
      break;
    case 3:
      register_tile<3>(w, pairs_in, h, relu, out, stride);
      break;
    case 4:
      register_tile<4>(w, pairs_in, h, relu, out, stride);
      break;
    case 5:
      register_tile<5>(w, pairs_in, h, relu, out, stride);
      break;
    default:
      register_tile<6>(w, pairs_in, h, relu, out, stride);
  }
}

/// Rows of floats, stride apart, rounded into rows of pairs. A last odd row is paired with zeros.
void round_rows(const float* in, int64_t rows_in, int64_t stride, uint32_t* out) {
  const Tag d;
  for (int64_t r = 0; r < rows_in; r += 2, out += kTile)
    for (int64_t t = 0; t < kTile; t += int64_t(hn::Lanes(d))) {
      const float* p = in + r * stride + t;
      store_pairs(hn::LoadU(d, p), r + 1 < rows_in ? hn::LoadU(d, p + stride) : hn::Zero(d), out + t);
    }
}

/// z = 1/(1 + exp(-z)) in place. Beyond 87 the result is 0 or 1 to float's precision, and exp stays finite.
void logistic(float* z, int64_t rows_in, int64_t stride) {
  const Tag d;
  const Vector one = hn::Set(d, 1.0F), limit = hn::Set(d, 87.0F);
  for (int64_t r = 0; r < rows_in; ++r)
    for (int64_t t = 0; t < kTile; t += int64_t(hn::Lanes(d))) {
      const Vector v = hn::LoadU(d, z + r * stride + t), clamped = hn::Min(limit, hn::Max(hn::Neg(limit), v));
      const Vector y = hn::Div(one, hn::Add(one, hn::Exp(d, hn::Neg(clamped))));
      hn::StoreU(hn::IfThenElse(hn::IsNaN(v), v, y), d, z + r * stride + t);  // exp(NaN) is 0 in Highway
    }
}

void network(const MlpFwd::Args<float>& x) {
  const MlpFwd::Shape& s = x.shape;
  const int64_t most = std::max({s.in, s.width, s.out}), layer_size = most * pairs(most);
  const auto packed = hwy::AllocateAligned<uint32_t>(size_t(s.layers() * layer_size));
  const auto tiles = hwy::AllocateAligned<uint32_t>(size_t(2 * pairs(most) * kTile));
  const auto floats =
      hwy::AllocateAligned<float>(size_t(most * kTile));  // a layer's block of rows; a part of a tile
  uint32_t *h = tiles.get(), *next = h + pairs(most) * kTile;
  for (int64_t l = 0; l < s.layers(); ++l)
    pack(x.weights + s.weight_begin(l), s.to(l), s.from(l), packed.get() + l * layer_size);
  for (int64_t i = 0; i < s.n; i += kTile) {
    const int64_t count = std::min(kTile, s.n - i);
    const bool whole = count == kTile;
    if (!whole)
      for (int64_t c = 0; c < s.in; ++c) {
        float* row = floats.get() + c * kTile;
        std::fill(std::copy_n(x.x + c * s.n + i, count, row), row + kTile, 0.0F);
      }
    round_rows(whole ? x.x + i : floats.get(), s.in, whole ? s.n : kTile, h);
    for (int64_t l = 0; l < s.layers(); ++l) {
      const int64_t to = s.to(l), in = pairs(s.from(l));
      const uint32_t* w = packed.get() + l * layer_size;
      const bool last = l == s.hidden, direct = last && whole;
      for (int64_t r = 0; r < to; r += kRows, w += kRows * in) {
        float* out = direct ? x.y + r * s.n + i : floats.get() + (last ? r * kTile : 0);
        const int64_t block = std::min(kRows, to - r);
        rows(w, block, in, h, !last, out, direct ? s.n : kTile);
        if (!last) round_rows(out, block, kTile, next + r / 2 * kTile);
      }
      std::swap(h, next);
    }
    if (s.logistic) logistic(whole ? x.y + i : floats.get(), s.out, whole ? s.n : kTile);
    if (!whole)
      for (int64_t r = 0; r < s.out; ++r) std::copy_n(floats.get() + r * kTile, count, x.y + r * s.n + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace klab {
namespace {

HWY_EXPORT(network);
void run(const MlpFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(network)(x); }

KLAB_VARIANT(MlpFwd, {.run = run, .parent = "04_fused_tile", .numerics = {.unit = Unit::bf16}});

}  // namespace
}  // namespace klab
#endif
