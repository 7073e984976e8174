// conv2d_fwd.cpu.10_amx_tiles: a tap is a product of tiles, of the picture where it lies.
//
// CHANGE    weights and pictures are rounded to bfloat16. TDPBF16PS adds along the channels, so a picture is packed as joined rows of
//           words, two channels in each: for a tap, 16 such rows of 16 words are the right factor, at the tap's shift, and 32 output
//           channels by 32 input channels of its weights are the left one. Nothing is written out as columns.
// EXPECT    at 56x56, 64 to 64 channels, 4 x 200 tiles of sums of 18 products each, at 16 cycles: 230,000 cycles, where the parent's
//           231 million operations are 3.6 million at 64 a cycle. Packing rounds 215,000 numbers at a third of a cycle, and storing sums
//           and adding the bias is four instructions for 16 of 200,000. Loads that cross cache lines take twice as long. At least 5
//           times the parent; channels that are no multiples of 32 are filled up with zeros, and gain less.
// NUMERICS  bfloat16 factors; float sums, of even and odd channels apart; the bias is added last. Denormal factors and sums count as
//           zero.
// NEEDS     AMX; where the processor has none, a model does the same and is not timed. A group's picture and weights, packed; NCHW.
#include <omp.h>

#include <algorithm>
#include <string>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/conv/pair_rows.h"
#include "kernels/common/conv/rows.h"
#include "kernels/common/mlp/tile_blocks.h"
#include "kernels/common/scratch.h"
#include "reference/conv2d_fwd/conv2d_fwd.h"

namespace klab {
namespace {

using namespace mlp_tiles;
using conv::JoinedRows;

constexpr int64_t kDepth = 32;  // input channels of a product of tiles

/// State that all tiles of a layer share.
struct Layer {
  JoinedRows rows;
  std::vector<int64_t> shifts;  // of the taps
  int64_t planes;               // joined rows of words, two channels in each; the last ones are zeros
  int64_t plane;                // words of one

  explicit Layer(const Conv2dShape& s)
      : rows(s), planes((s.c + kDepth - 1) / kDepth * kSide), plane(rows.channel) {
    for (int64_t tap = 0; tap < s.taps(); ++tap)
      shifts.push_back(rows.at(tap / s.s * s.dilation_y, tap % s.s * s.dilation_x));
  }
  /// Packed weights of a block of 32 output channels.
  int64_t weights() const { return int64_t(shifts.size()) * planes / kSide * kBlock * kDepth; }
};

/// Packs weights of up to 32 output channels: for each tap and each 32 input channels a square of 32, zeros beyond both.
void pack_weights(const Conv2dShape& s, const Layer& layer, const float* from, int64_t channels,
                  uint16_t* to) {
  for (int64_t tap = 0; tap < s.taps(); ++tap)
    for (int64_t first = 0; first < 2 * layer.planes; first += kDepth)
      for (int64_t r = 0; r < kBlock; ++r)
        for (int64_t c = first; c < first + kDepth; ++c)
          *to++ = r < channels && c < s.c ? bfloat16_from_float(from[(r * s.c + c) * s.taps() + tap])
                                          : uint16_t{0};
}

/// Packs channels 2·pair and 2·pair + 1 of a group as one plane.
void pack_pair(const Conv2dFwd::Args<float>& x, const Layer& layer, int64_t image, int64_t g, int64_t pair,
               uint32_t* to) {
  static thread_local Scratch scratch;
  const Conv2dShape& s = x.shape;
  float* const rows = scratch.floats(2 * layer.plane);
  const int64_t channels = std::clamp<int64_t>(s.c - 2 * pair, 0, 2);
  std::fill(rows + channels * layer.plane, rows + 2 * layer.plane, 0.0F);
  for (int64_t c = 0; c < channels; ++c)
    layer.rows.pack(x.x + s.x_at(image, g * s.c + 2 * pair + c, 0, 0), rows + c * layer.plane);
  conv::pair_rows(rows, rows + layer.plane, layer.plane, to);
}

/// Computes 32 joined outputs from `words` on, of 32 channels, or of 16 without `lower`.
template <class Tiles, bool lower>
void block(const Layer& layer, const uint16_t* w, const uint32_t* words, float* sums) {
  zero_sums<Tiles, lower>();
  for (const int64_t shift : layer.shifts)
    for (int64_t p = 0; p < layer.planes; p += kSide, w += kBlock * kDepth)
      multiply_add<Tiles, Factor::bf16, lower>(w, kTileBytes, kSide * kTileBytes,
                                               words + p * layer.plane + shift, 4 * layer.plane);
  store_sums<Tiles, lower>(sums);
}

/// Computes up to 64 joined outputs from t on, of up to 32 channels. y: the first channel's output.
template <class Tiles>
void piece(const Layer& layer, const uint16_t* w, const uint32_t* words, int64_t t, int64_t channels,
           const float* bias, float* y) {
  alignas(64) float sums[kBlock * kSamples];
  for (int64_t j = 0; j < kSamples; j += kBlock)
    channels > kSide ? block<Tiles, true>(layer, w, words + t + j, sums + j)
                     : block<Tiles, false>(layer, w, words + t + j, sums + j);
  const JoinedRows& rows = layer.rows;
  const int64_t count = std::min(kSamples, rows.outputs() - t);
  for (int64_t r = 0; r < channels; ++r, y += rows.oh * rows.ow)
    rows.each_piece(t, count, [&](int64_t from, int64_t to, int64_t length) {
      for (int64_t j = 0; j < length; ++j) y[to + j] = sums[r * kSamples + from + j] + bias[r];
    });
}

/// As many threads as there are portions of work that take several times as long as waking one.
int choose_threads(const Conv2dShape& s) {
  constexpr double portion = 5e6;  // operations: some microseconds
  return std::max(1, int(std::min(2 * s.products() / portion, double(omp_get_max_threads()))));
}

void run(const Conv2dFwd::Args<float>& x) {
  static thread_local Scratch pictures, panels;  // those of the thread that calls; its team uses them
  const Conv2dShape& s = x.shape;
  const Layer layer(s);
  auto* const words = reinterpret_cast<uint32_t*>(pictures.floats(layer.planes * layer.plane + kSamples));
  std::fill_n(words + layer.planes * layer.plane, kSamples, 0U);
  const int64_t blocks = (s.k + kBlock - 1) / kBlock,
                pieces = (layer.rows.outputs() + kSamples - 1) / kSamples;
  auto* const weights = reinterpret_cast<uint16_t*>(panels.floats(blocks * layer.weights() / 2));
#pragma omp parallel num_threads(choose_threads(s))
  tiles::on_tiles([&](auto unit) {
    unit.configure(whole_tiles());
    for (int64_t gi = 0; gi < s.groups * s.n; ++gi) {
      const int64_t g = gi / s.n, image = gi % s.n;
#pragma omp for schedule(static)
      for (int64_t b = 0; b < (image == 0 ? blocks : 0); ++b)
        pack_weights(s, layer, x.w + (g * s.k + b * kBlock) * s.c * s.taps(),
                     std::min(kBlock, s.k - b * kBlock), weights + b * layer.weights());
#pragma omp for schedule(static)
      for (int64_t p = 0; p < layer.planes; ++p) pack_pair(x, layer, image, g, p, words + p * layer.plane);
#pragma omp for schedule(static)
      for (int64_t i = 0; i < blocks * pieces; ++i) {
        const int64_t b = i / pieces, k = b * kBlock, t = i % pieces * kSamples;
        piece<decltype(unit)>(layer, weights + b * layer.weights(), words, t, std::min(kBlock, s.k - k),
                              x.b + g * s.k + k, x.y + s.y_at(image, g * s.k + k, 0, 0));
      }
    }
    unit.release();
  });
}

std::string supported(const Conv2dShape& s, const Host&) {
  return s.nhwc == 0 ? why_no_tiles() : "its tiles run along rows of one channel: NCHW only";
}

KLAB_VARIANT(Conv2dFwd,
             {.run = run,
              .parent = "06_threads",
              .numerics = {.unit = Unit::bf16},
              .tiles = {kSide, kBlock, kSamples},
              .expect = {.shape = {1, 1, 64, 64, 56, 56, 3, 3, 1, 1, 1, 1, 1, 1, 0}, .over_parent = 5},
              .supported = supported});

}  // namespace
}  // namespace klab
