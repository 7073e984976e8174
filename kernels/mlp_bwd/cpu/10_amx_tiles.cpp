// mlp_bwd.cpu.10_amx_tiles: all three products by the processor's matrix unit.
//
// CHANGE    W h and Wᵀ D are products of tiles as in mlp_fwd.cpu.10_amx_tiles. The gradient of the weights has D by samples as its left
//           factor, 16 units x 32 samples, and the parent's transposed words as its right one: pairs of samples, 16 channels. Its sums
//           are loaded into tiles, and stored, once for 64 samples.
// EXPECT    the color network has 56 products of tiles forward, 64 back and 64 for the gradients of the weights, for 64 samples, at 16
//           cycles each: 46 cycles a sample, where the parent has 38,016 operations / 64 = 594 instructions, one a cycle on a
//           processor that has tiles. Rounding in two layouts, gates and transposition stay as in the parent, some 80 cycles a
//           sample; 268 bytes of it are 67 at 4 bytes a cycle. At least 3 times the parent.
// NUMERICS  bfloat16 factors; float sums, of even and odd depths apart; denormal factors and sums count as zero. A unit whose
//           activation rounds to zero has no gradient.
// NEEDS     AMX; where the processor has none, a model does the same and is not timed. (hidden + 4) tiles in each layout, two copies
//           of the weights and one of their gradients.
#include <omp.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/mlp/rounding.h"
#include "kernels/common/mlp/tile_blocks.h"
#include "kernels/common/scratch.h"
#include "reference/mlp_bwd/mlp_bwd.h"

namespace klab {
namespace {

using namespace mlp_bf16;
using namespace mlp_tiles;

#include "kernels/common/mlp/10_amx_tiles-inl.h"

/// The weights for both directions, layer by layer.
struct Packed {
  std::vector<const uint16_t*> forward, backward;

  Packed(const MlpBwd::Args<float>& x, Scratch& scratch) {
    const MlpBwd::Shape& s = x.shape;
    int64_t total = 0;
    for (int64_t l = 0; l < s.layers(); ++l) total += 2 * packed_size(s.to(l), s.from(l));
    auto* at = reinterpret_cast<uint16_t*>(scratch.floats(total / 2));
    for (int64_t l = 0; l < s.layers(); ++l) {
      const int64_t from = s.from(l), to = s.to(l);
      const float* w = x.weights + s.weight_begin(l);
      forward.push_back(at);
      pack_rows(w, to, from, from, 1, at);
      at += packed_size(to, from);
      backward.push_back(at);
      pack_rows(w, from, to, 1, from, at);
      at += packed_size(from, to);
    }
  }
};

/// One thread's tiles, and its sums of the gradients of the weights.
struct Work {
  std::vector<Tile> h;  // inputs of each layer
  Tile d, next;         // gradients of the layer in hand and of the one before
  uint32_t* transposed = nullptr;
  float *z = nullptr, *d_y = nullptr, *rest = nullptr, *rows = nullptr;  // rows of floats
  float* sums = nullptr;
  std::vector<int64_t> sums_begin;

  Work(const MlpBwd::Shape& s, Scratch& scratch) {
    const int64_t words = deep_words(std::max({s.in, s.width, s.out}));  // of either layout
    sums_begin.push_back(0);
    for (int64_t l = 0; l < s.layers(); ++l)
      sums_begin.push_back(sums_begin.back() + packed_size(s.to(l), s.from(l)));
    const int64_t tiles = s.layers() + 2;
    const int64_t all = (2 * tiles + 1) * words + (2 * s.out + s.in + kBlock) * kTile + sums_begin.back();
    float* at = scratch.floats(all);
    std::fill_n(at, all, 0.0F);
    const auto take = [&](int64_t count) { return std::exchange(at, at + count); };
    const auto tile = [&] {
      return Tile{reinterpret_cast<uint32_t*>(take(words)), reinterpret_cast<uint32_t*>(take(words))};
    };
    for (int64_t l = 0; l < s.layers(); ++l) h.push_back(tile());
    d = tile();
    next = tile();
    transposed = reinterpret_cast<uint32_t*>(take(words));
    z = take(s.out * kTile);
    d_y = take(s.out * kTile);
    rest = take(s.in * kTile);
    rows = take(kBlock * kTile);
    sums = take(sums_begin.back());
  }
};

/// Computes the gradient with respect to the logistic function's argument, or to the outputs if there is
/// none, into w.d.
template <class Tiles>
void output_gradient(const MlpBwd::Args<float>& x, const Packed& packed, int64_t i, int64_t count, Work& w,
                     Ahead& ahead) {
  const MlpBwd::Shape& s = x.shape;
  if (!s.logistic) {
    load_rows(x.d_y + i, s.out, s.n, count, w.d);
    return;
  }
  layer<Tiles, End::plain>(packed.forward[size_t(s.hidden)], s.out, s.width, w.h[size_t(s.hidden)],
                           {.rows = w.z}, w.rows, ahead);
  for (int64_t r = 0; r < s.out; ++r)
    std::fill(std::copy_n(x.d_y + r * s.n + i, count, w.d_y + r * kTile), w.d_y + (r + 1) * kTile, 0.0F);
  logistic_gradient_rows(w.z, s.out * kTile, w.d_y);
  load_rows(w.d_y, s.out, kTile, kTile, w.d);
}

/// Adds D hᵀ to sums [deep(to)][pad]: 32 units by 32 channels at a time, over pairs of samples. `t` is h [kHalf][pad].
template <class Tiles>
void weight_gradient_of_tiles(const uint32_t* d, int64_t to, const uint32_t* t, int64_t pad, float* sums) {
  const int64_t row = 4 * pad;  // bytes
  for (int64_t r = 0; r < to; r += kBlock, d += kBlock * kHalf, sums += kBlock * pad)
    for (int64_t c = 0; c < pad; c += kBlock) {
      float *upper = sums + c, *below = upper + kSide * pad;
      Tiles::template load<0>(upper, row);
      Tiles::template load<1>(upper + kSide, row);
      Tiles::template load<2>(below, row);
      Tiles::template load<3>(below + kSide, row);
      for (int64_t p = 0; p < kHalf; p += kSide)
        multiply_add<Tiles, Factor::bf16, true>(d + p, 4 * kHalf, 4 * kSide * kHalf, t + p * pad + c, row);
      Tiles::template store<0>(upper, row);
      Tiles::template store<1>(upper + kSide, row);
      Tiles::template store<2>(below, row);
      Tiles::template store<3>(below + kSide, row);
    }
}

/// One tile: forward, then back; `more`: the next one is whole. Adds to w.sums and writes d_x.
template <class Tiles>
void tile(const MlpBwd::Args<float>& x, const Packed& packed, int64_t i, int64_t count, bool more, Work& w) {
  const MlpBwd::Shape& s = x.shape;
  Ahead ahead;
  ahead.add(x.d_x + i, count == kTile ? s.in : 0, s.n, true);
  ahead.add(x.x + i + kTile, more ? s.in : 0, s.n, false);
  ahead.add(x.d_y + i + kTile, more ? s.out : 0, s.n, false);
  load_rows(x.x + i, s.in, s.n, count, w.h[0]);
  clear_rest(w.h[0], s.in);
  for (int64_t l = 0; l < s.hidden; ++l)
    layer<Tiles, End::relu>(packed.forward[size_t(l)], s.width, s.from(l), w.h[size_t(l)],
                            {.tile = w.h[size_t(l + 1)]}, w.rows, ahead);
  output_gradient<Tiles>(x, packed, i, count, w, ahead);
  clear_rest(w.d, s.out);
  for (int64_t l = s.hidden; l >= 0; --l) {
    const int64_t from = s.from(l), to = s.to(l), pad = deep(from);
    transpose_words(w.h[size_t(l)].by_samples, from, pad, w.transposed);
    weight_gradient_of_tiles<Tiles>(w.d.by_samples, to, w.transposed, pad, w.sums + w.sums_begin[size_t(l)]);
    if (l > 0) {
      layer<Tiles, End::gate>(packed.backward[size_t(l)], from, to, w.d,
                              {.tile = w.next, .gate = w.h[size_t(l)]}, w.rows, ahead);
    } else {
      const bool whole = count == kTile;
      layer<Tiles, End::plain>(packed.backward[0], from, to, w.d,
                               {.rows = whole ? x.d_x + i : w.rest, .stride = whole ? s.n : kTile}, w.rows,
                               ahead);
    }
    std::swap(w.d, w.next);
  }
  if (count < kTile)
    for (int64_t c = 0; c < s.in; ++c) std::copy_n(w.rest + c * kTile, count, x.d_x + c * s.n + i);
}

/// Samples [begin, end): writes d_x and, to `gradient`, which is laid out as the weights, these samples' sums.
template <class Tiles>
void network(const MlpBwd::Args<float>& x, const Packed& packed, int64_t begin, int64_t end,
             float* gradient) {
  static thread_local Scratch scratch;
  const MlpBwd::Shape& s = x.shape;
  Work w(s, scratch);
  Tiles::configure(whole_tiles());
  for (int64_t i = begin; i < end; i += kTile)
    tile<Tiles>(x, packed, i, std::min(kTile, end - i), i + 2 * kTile <= end, w);
  Tiles::release();
  for (int64_t l = 0; l < s.layers(); ++l)
    for (int64_t r = 0; r < s.to(l); ++r)
      gradient = std::copy_n(w.sums + w.sums_begin[size_t(l)] + r * deep(s.from(l)), s.from(l), gradient);
}

void run(const MlpBwd::Args<float>& x) {
  const int64_t n = x.shape.n, parts = (n + kTile - 1) / kTile, weights = x.shape.weights();
  static thread_local Scratch scratch;
  const Packed packed(x, scratch);
  std::vector<float> gradients;
#pragma omp parallel
  {
    const int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
#pragma omp single
    gradients.resize(size_t(team * weights));
    const int64_t begin = parts * me / team * kTile, end = std::min(n, parts * (me + 1) / team * kTile);
    if (begin < end)
      tiles::on_tiles([&](auto unit) {
        network<decltype(unit)>(x, packed, begin, end, gradients.data() + me * weights);
      });
  }
  for (size_t i = 0; i < gradients.size(); i += size_t(weights))
    for (size_t k = 0; k < size_t(weights); ++k) x.d_weights[k] += gradients[i + k];
}

std::string supported(const MlpBwd::Shape&, const Host&) { return why_no_tiles(); }

KLAB_VARIANT(MlpBwd, {.run = run,
                      .parent = "09_bfloat16",
                      .forward = "10_amx_tiles",
                      .numerics = {.unit = Unit::bf16},
                      .expect = {.shape = {1 << 18, 32, 64, 2, 3, 1}, .over_parent = 3},
                      .supported = supported});

}  // namespace
}  // namespace klab
