// mlp_bwd.cpu.09_bfloat16: all three products in 16 bits, by the processor's dot product of pairs.
//
// CHANGE    samples, weights, hidden activations and gradients of units are rounded to bfloat16. Products
//           with weights sum over pairs of channels, gradients of weights over pairs of samples, so tiles are
//           kept in both layouts.
// EXPECT    twice the peak of float. Transposing words that hold two samples costs half as much as
//           transposing floats; rounding and interleaving are new. Rows are prefetched as in 08_prefetch. At
//           least 1.6 times the parent.
// NUMERICS  bfloat16 factors, sums in float; denormal factors and sums are taken for zero. A unit whose
//           activation rounds to zero has no gradient.
// NEEDS     AVX-512 BF16; (hidden + 4) tiles in each layout, two copies of the weights and one of their
//           gradients.
#include <omp.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/mlp/bf16.h"
#include "kernels/common/scratch.h"
#include "reference/mlp_bwd/mlp_bwd.h"

namespace klab {
namespace {

using namespace mlp_bf16;

#if defined(__x86_64__)

/// The weights for both directions, layer by layer.
struct Packed {
  std::vector<uint32_t> words;
  std::vector<const uint32_t*> forward, backward;

  explicit Packed(const MlpBwd::Args<float>& x) {
    const MlpBwd::Shape& s = x.shape;
    int64_t total = 0;
    for (int64_t l = 0; l < s.layers(); ++l) total += s.to(l) * pairs(s.from(l)) + s.from(l) * pairs(s.to(l));
    words.resize(size_t(total));
    uint32_t* at = words.data();
    for (int64_t l = 0; l < s.layers(); ++l) {
      const int64_t from = s.from(l), to = s.to(l);
      const float* w = x.weights + s.weight_begin(l);
      forward.push_back(at);
      pack(w, to, from, from, 1, at);
      at += to * pairs(from);
      backward.push_back(at);
      pack(w, from, to, 1, from, at);
      at += from * pairs(to);
    }
  }
};

/// One thread's tiles, and its sums of the gradients of the weights.
struct Work {
  std::vector<Tile> h;  // inputs of each layer
  Tile d, next;         // gradients of the layer in hand and of the one before
  uint32_t* transposed = nullptr;
  float *z = nullptr, *d_y = nullptr, *rest = nullptr;  // rows of floats
  float* sums = nullptr;
  std::vector<int64_t> sums_begin;

  Work(const MlpBwd::Shape& s, Scratch& scratch) {
    const int64_t rows = padded(std::max({s.in, s.width, s.out})), words = rows * kHalf;  // of either layout
    sums_begin.push_back(0);
    for (int64_t l = 0; l < s.layers(); ++l)
      sums_begin.push_back(sums_begin.back() + s.to(l) * padded(s.from(l)));
    const int64_t tiles = s.layers() + 2;
    const int64_t all = (2 * tiles + 1) * words + (2 * s.out + s.in) * kTile + sums_begin.back();
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
    sums = take(sums_begin.back());
  }
};

/// Computes the gradient with respect to the logistic function's argument, or to the outputs if there is
/// none, into w.d.
KLAB_BF16 void output_gradient(const MlpBwd::Args<float>& x, const Packed& packed, int64_t i, int64_t count,
                               Work& w, Ahead& ahead) {
  const MlpBwd::Shape& s = x.shape;
  if (!s.logistic) {
    load_tile(x.d_y + i, s.out, s.n, count, w.d);
    return;
  }
  product<End::plain>(packed.forward[size_t(s.hidden)], s.out, pairs(s.width),
                      w.h[size_t(s.hidden)].by_channels, {.rows = w.z}, ahead);
  for (int64_t r = 0; r < s.out; ++r)
    std::fill(std::copy_n(x.d_y + r * s.n + i, count, w.d_y + r * kTile), w.d_y + (r + 1) * kTile, 0.0F);
  logistic_gradient(w.z, s.out * kTile, w.d_y);
  load_tile(w.d_y, s.out, kTile, kTile, w.d);
}

/// One tile: forward, then back; `more`: the next one is whole. Adds to w.sums and writes d_x.
KLAB_BF16 void tile(const MlpBwd::Args<float>& x, const Packed& packed, int64_t i, int64_t count, bool more,
                    Work& w) {
  const MlpBwd::Shape& s = x.shape;
  Ahead ahead;
  ahead.add(x.d_x + i, count == kTile ? s.in : 0, s.n, true);
  ahead.add(x.x + i + kTile, more ? s.in : 0, s.n, false);
  ahead.add(x.d_y + i + kTile, more ? s.out : 0, s.n, false);
  load_tile(x.x + i, s.in, s.n, count, w.h[0]);
  for (int64_t l = 0; l < s.hidden; ++l)
    product<End::relu>(packed.forward[size_t(l)], s.width, pairs(s.from(l)), w.h[size_t(l)].by_channels,
                       {.tile = w.h[size_t(l + 1)]}, ahead);
  output_gradient(x, packed, i, count, w, ahead);
  for (int64_t l = s.hidden; l >= 0; --l) {
    const int64_t from = s.from(l), to = s.to(l), pad = padded(from);
    transpose(w.h[size_t(l)].by_samples, from, pad, w.transposed);
    weight_gradient(w.d.by_samples, to, w.transposed, pad, w.sums + w.sums_begin[size_t(l)]);
    if (l > 0) {
      product<End::gate>(packed.backward[size_t(l)], from, pairs(to), w.d.by_channels,
                         {.tile = w.next, .gate = w.h[size_t(l)]}, ahead);
    } else {
      const bool whole = count == kTile;
      product<End::plain>(packed.backward[0], from, pairs(to), w.d.by_channels,
                          {.rows = whole ? x.d_x + i : w.rest, .stride = whole ? s.n : kTile}, ahead);
    }
    std::swap(w.d, w.next);
  }
  if (count < kTile)
    for (int64_t c = 0; c < s.in; ++c) std::copy_n(w.rest + c * kTile, count, x.d_x + c * s.n + i);
}

/// Samples [begin, end): writes d_x and, to `gradient`, which is laid out as the weights, these samples' sums.
void network(const MlpBwd::Args<float>& x, const Packed& packed, int64_t begin, int64_t end,
             float* gradient) {
  static thread_local Scratch scratch;
  const MlpBwd::Shape& s = x.shape;
  Work w(s, scratch);
  for (int64_t i = begin; i < end; i += kTile)
    tile(x, packed, i, std::min(kTile, end - i), i + 2 * kTile <= end, w);
  for (int64_t l = 0; l < s.layers(); ++l)
    for (int64_t r = 0; r < s.to(l); ++r)
      gradient = std::copy_n(w.sums + w.sums_begin[size_t(l)] + r * padded(s.from(l)), s.from(l), gradient);
}

void run(const MlpBwd::Args<float>& x) {
  const int64_t n = x.shape.n, tiles = (n + kTile - 1) / kTile, weights = x.shape.weights();
  const Packed packed(x);
  std::vector<float> gradients;
#pragma omp parallel
  {
    const int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
#pragma omp single
    gradients.resize(size_t(team * weights));
    const int64_t begin = tiles * me / team * kTile, end = std::min(n, tiles * (me + 1) / team * kTile);
    if (begin < end) network(x, packed, begin, end, gradients.data() + me * weights);
  }
  for (size_t i = 0; i < gradients.size(); i += size_t(weights))
    for (size_t k = 0; k < size_t(weights); ++k) x.d_weights[k] += gradients[i + k];
}

#else

void run(const MlpBwd::Args<float>&) {}

#endif

std::string supported(const MlpBwd::Shape&, const Host&) { return unsupported(); }

KLAB_VARIANT(MlpBwd, {.run = run,
                      .parent = "07_threads",
                      .forward = "08_bfloat16",
                      .numerics = {.unit = Unit::bf16},
                      .expect = {.shape = {1 << 18, 32, 64, 2, 3, 1}, .over_parent = 1.6},
                      .supported = supported});

}  // namespace
}  // namespace klab
