// mlp_narrow_fwd.cpu.03_bfloat16: two products an instruction.
//
// CHANGE    weights become pairs of bfloat16s once a call, from whatever they are, and samples and hidden activations are
//           rounded to them too: the processor's dot product of pairs, as in mlp_fwd.cpu.08_bfloat16.
// EXPECT    twice the peak; samples are still floats in memory, and are rounded and interleaved: at least 1.5 times the parent.
//           A weight that is stored in bfloat16 is not rounded again, so only activations are.
// NUMERICS  bfloat16 factors, sums in float; denormal factors and sums are taken for zero.
// NEEDS     AVX-512 BF16.
#include <omp.h>

#include <algorithm>
#include <string>

#include "harness/core/registrar.h"
#include "kernels/common/mlp/bf16.h"
#include "kernels/common/scratch.h"
#include "reference/mlp_narrow_fwd/mlp_narrow_fwd.h"

namespace klab {
namespace {

using namespace mlp_bf16;

#if defined(__x86_64__)

/// Where the packed matrix of a layer begins.
int64_t packed_begin(const MlpFwd::Shape& s, int64_t layer) {
  int64_t words = 0;
  for (int64_t l = 0; l < layer; ++l) words += s.to(l) * pairs(s.from(l));
  return words;
}

/// Samples [begin, end), with weights as pack() leaves them.
KLAB_BF16 void network(const MlpNarrowFwd::Args<float>& x, const uint32_t* packed, int64_t begin,
                       int64_t end) {
  static thread_local Scratch scratch;
  const MlpFwd::Shape s = x.shape.network();
  const int64_t tile = pairs(std::max(s.in, s.width)) * kTile, out = s.out * kTile;
  float* memory = scratch.floats(2 * tile + out);
  Tile h{reinterpret_cast<uint32_t*>(memory), nullptr}, next{h.by_channels + tile, nullptr};
  float* rest = memory + 2 * tile;
  for (int64_t i = begin; i < end; i += kTile) {
    const int64_t count = std::min(kTile, end - i);
    const bool whole = count == kTile;
    Ahead ahead;
    ahead.add(x.y + i, whole ? s.out : 0, s.n, true);
    ahead.add(x.x + i + kTile, i + 2 * kTile <= end ? s.in : 0, s.n, false);
    load_tile(x.x + i, s.in, s.n, count, h);
    const uint32_t* w = packed;
    for (int64_t l = 0; l < s.hidden; ++l) {
      product<End::relu>(w, s.width, pairs(s.from(l)), h.by_channels, {.tile = next}, ahead);
      w += s.width * pairs(s.from(l));
      std::swap(h, next);
    }
    float* y = whole ? x.y + i : rest;
    const int64_t stride = whole ? s.n : kTile;
    product<End::plain>(w, s.out, pairs(s.width), h.by_channels, {.rows = y, .stride = stride}, ahead);
    if (s.logistic) logistic(y, s.out, stride);
    if (!whole)
      for (int64_t r = 0; r < s.out; ++r) std::copy_n(rest + r * kTile, count, x.y + r * s.n + i);
  }
}

void run(const MlpNarrowFwd::Args<float>& x) {
  static thread_local Scratch scratch, floats;
  const MlpFwd::Shape s = x.shape.network();
  float* const weights = floats.floats(s.weights());
  widen_weights(x, weights);
  auto* packed = reinterpret_cast<uint32_t*>(scratch.floats(packed_begin(s, s.layers())));
  for (int64_t l = 0; l < s.layers(); ++l)
    pack(weights + s.weight_begin(l), s.to(l), s.from(l), s.from(l), 1, packed + packed_begin(s, l));
  const int64_t tiles = (s.n + kTile - 1) / kTile;
#pragma omp parallel
  {
    const int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
    const int64_t begin = tiles * me / team * kTile, end = std::min(s.n, tiles * (me + 1) / team * kTile);
    if (begin < end) network(x, packed, begin, end);
  }
}

#else

void run(const MlpNarrowFwd::Args<float>&) {}

#endif

std::string supported(const MlpNarrowFwd::Shape&, const Host&) { return unsupported(); }

KLAB_VARIANT(MlpNarrowFwd, {.run = run,
                            .parent = "02_widened_once",
                            .numerics = {.unit = Unit::bf16},
                            .expect = {.shape = {1 << 16, 32, 64, 2, 3, 1, 2}, .over_parent = 1.5},
                            .supported = supported});

}  // namespace
}  // namespace klab
