// mlp_int8_fwd.cpu.03_amx_tiles: a layer's products of bytes by the processor's matrix unit.
//
// CHANGE    TDPBSSD multiplies 16 units x 64 channels by 64 channels x 16 samples, bytes with a sign both. The parent's words of four
//           channels are the right factor; rows of W, with zeros up to whole tiles, are the left one. Nothing has to be added to samples
//           and subtracted from sums. Vectors are Highway's, since only the products need the unit.
// EXPECT    the color network has 36 products of tiles for 64 samples at 16 cycles each: 9 cycles a sample, where the parent has
//           12,672 operations / 128 = 99 instructions, two a cycle. Finding scales and rounding 160 channels is eight instructions for
//           16 of them, 40 cycles a sample, and converting 131 sums 15, in both. (50 + 55) / (9 + 55): at least 1.3 times the parent.
// NUMERICS  exact sums; a conversion and three products with scales.
// NEEDS     AMX. Where the processor has none, a model does the same and is not timed.
#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "harness/core/registrar.h"
#include "kernels/common/mlp/tile_blocks.h"
#include "kernels/common/scratch.h"
#include "kernels/common/simd.h"
#include "reference/mlp_int8_fwd/mlp_int8_fwd.h"

#include "hwy/contrib/math/math-inl.h"

KLAB_SIMD_BEGIN();

using namespace mlp_tiles;
using Tag = hn::CappedTag<float, 16>;
using Integers = hn::RebindToSigned<Tag>;
using Vector = hn::Vec<Tag>;
constexpr int64_t kTile = kSamples;

constexpr int64_t whole(int64_t count, int64_t of) { return (count + of - 1) / of * of; }

/// Bytes of a packed matrix, which has zeros up to whole tiles.
constexpr int64_t packed_size(int64_t rows, int64_t columns) {
  return whole(rows, kBlock) * whole(columns, kTileBytes);
}

/// Returns the weights, layer by layer, in memory of `scratch`.
const int8_t* pack(const MlpInt8Fwd::Args<float>& x, Scratch& scratch) {
  const MlpFwd::Shape& s = x.shape;
  int64_t bytes = 0;
  for (int64_t l = 0; l < s.layers(); ++l) bytes += packed_size(s.to(l), s.from(l));
  auto* const packed = reinterpret_cast<int8_t*>(scratch.floats(bytes / 4));
  std::fill_n(packed, bytes, int8_t{0});
  int8_t* at = packed;
  for (int64_t l = 0; l < s.layers(); ++l) {
    for (int64_t r = 0; r < s.to(l); ++r)
      std::copy_n(x.bytes + s.weight_begin(l) + r * s.from(l), s.from(l),
                  at + r * whole(s.from(l), kTileBytes));
    at += packed_size(s.to(l), s.from(l));
  }
  return packed;
}

/// Rounds a tile h [rows][kTile] to words of four channels, [rows / 4][kTile], and finds the scale of each sample, a / 127.
void round_tile(const float* h, int64_t rows, int32_t* q, float* scale) {
  const Tag d;
  const Integers di;
  const Vector least = hn::Set(d, MlpInt8Fwd::kLeast), steps = hn::Set(d, 127.0F);
  const auto low = hn::Set(di, 255);
  for (int64_t t = 0; t < kTile; t += int64_t(hn::Lanes(d))) {
    Vector largest = hn::Zero(d);
    for (int64_t c = 0; c < rows; ++c) largest = hn::Max(largest, hn::Abs(hn::LoadU(d, h + c * kTile + t)));
    const auto some = hn::Gt(largest, least);
    const Vector by = hn::IfThenElseZero(some, hn::Div(steps, largest));
    hn::StoreU(hn::IfThenElseZero(some, hn::Div(largest, steps)), d, scale + t);
    for (int64_t c = 0; c < rows; c += 4) {
      auto word = hn::Zero(di);
      for (int64_t k = std::min(rows, c + 4) - 1; k >= c; --k) {
        const auto v = hn::NearestInt(hn::Mul(hn::LoadU(d, h + k * kTile + t), by));
        word = hn::Or(hn::ShiftLeft<8>(word), hn::And(v, low));
      }
      hn::StoreU(word, di, q + c / 4 * kTile + t);
    }
  }
}

/// Ends rows of a layer: h [rows][kTile] = sums · scale · factor, and ReLU where the layer is hidden.
void end_rows(const int32_t* sums, int64_t rows, const float* factors, const float* scale, bool relu,
              float* h) {
  const Tag d;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t t = 0; t < kTile; t += int64_t(hn::Lanes(d))) {
      const Vector sum = hn::ConvertTo(d, hn::LoadU(Integers(), sums + r * kTile + t));
      const Vector z = hn::Mul(sum, hn::Mul(hn::LoadU(d, scale + t), hn::Set(d, factors[r])));
      hn::StoreU(relu ? hn::Max(hn::Zero(d), z) : z, d, h + r * kTile + t);
    }
}

/// z = 1/(1 + e^-z) in place, for rows of kTile floats.
void logistic(float* z, int64_t rows) {
  const Tag d;
  const Vector one = hn::Set(d, 1.0F), limit = hn::Set(d, 87.0F);
  for (int64_t t = 0; t < rows * kTile; t += int64_t(hn::Lanes(d))) {
    const Vector held = hn::Min(limit, hn::Max(hn::Neg(limit), hn::LoadU(d, z + t)));
    hn::StoreU(hn::Div(one, hn::Add(one, hn::Exp(d, hn::Neg(held)))), d, z + t);
  }
}

template <class Tiles>
void samples(const MlpInt8Fwd::Args<float>& x, const int8_t* packed, int64_t begin, int64_t end) {
  static thread_local Scratch scratch;
  const MlpFwd::Shape& s = x.shape;
  const int64_t rows = std::max({s.in, s.width, s.out}),
                words = whole(std::max(s.in, s.width), kTileBytes) / 4;
  float* const h = scratch.floats((rows + words + kBlock + 1) * kTile);
  auto* const q = reinterpret_cast<int32_t*>(h + rows * kTile);
  int32_t* const sums = q + words * kTile;
  float* const scale = h + (rows + words + kBlock) * kTile;
  Tiles::configure(whole_tiles());
  for (int64_t i = begin; i < end; i += kTile) {
    const int64_t count = std::min(kTile, end - i);
    for (int64_t c = 0; c < s.in; ++c)
      std::fill(std::copy_n(x.x + c * s.n + i, count, h + c * kTile), h + (c + 1) * kTile, 0.0F);
    const int8_t* w = packed;
    for (int64_t l = 0; l < s.layers(); ++l) {
      round_tile(h, s.from(l), q, scale);
      const int64_t row = whole(s.from(l), kTileBytes);
      for (int64_t r = 0; r < s.to(l); r += kBlock) {
        block_of_rows<Tiles, Factor::bytes>(w + r * row, s.to(l) - r, row,
                                            reinterpret_cast<const uint32_t*>(q), sums);
        end_rows(sums, std::min(kBlock, s.to(l) - r), x.factors + l * s.width + r, scale, l < s.hidden,
                 h + r * kTile);
      }
      w += packed_size(s.to(l), s.from(l));
    }
    if (s.logistic) logistic(h, s.out);
    for (int64_t r = 0; r < s.out; ++r) std::copy_n(h + r * kTile, count, x.y + r * s.n + i);
  }
  Tiles::release();
}

/// Samples [begin, end), with weights as pack() leaves them.
void network(const MlpInt8Fwd::Args<float>& x, const int8_t* packed, int64_t begin, int64_t end) {
  tiles::on_tiles([&](auto unit) { samples<decltype(unit)>(x, packed, begin, end); });
}

KLAB_SIMD_ONCE(pack, network);

#if HWY_ONCE
constexpr int64_t kShare = 64;  // threads begin at multiples of the tile

void run(const MlpInt8Fwd::Args<float>& x) {
  static thread_local Scratch scratch;
  const int8_t* const packed = HWY_DYNAMIC_DISPATCH(pack)(x, scratch);
  const int64_t n = x.shape.n, parts = (n + kShare - 1) / kShare;
#pragma omp parallel
  {
    const int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
    const int64_t begin = parts * me / team * kShare, end = std::min(n, parts * (me + 1) / team * kShare);
    if (begin < end) HWY_DYNAMIC_DISPATCH(network)(x, packed, begin, end);
  }
}

std::string supported(const MlpInt8Fwd::Shape&, const Host&) { return why_no_tiles(); }

KLAB_VARIANT(MlpInt8Fwd, {.run = run,
                          .parent = "02_vnni",
                          .expect = {.shape = {1 << 16, 32, 64, 2, 3, 1}, .over_parent = 1.3},
                          .supported = supported});
KLAB_SIMD_CLOSE();
#endif
