// mlp_fwd.cpu.06_threads: tiles shared out among the cores.
//
// CHANGE    each thread takes one contiguous run of tiles; buffers and packed weights are its own.
// EXPECT    close to the number of cores: tiles share nothing but the weights, and memory is far from its
//           limit.
// NUMERICS  as the parent: the same sums, so the same bits whatever the number of threads.
// NEEDS     as the parent, for each thread.
#include <omp.h>

#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/mlp_fwd/mlp_fwd.h"

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

/// packed[k][R] for each block of up to kRows rows of w[to][from], one block after the other.
void pack(const float* w, int64_t to, int64_t from, float* packed) {
  for (int64_t r = 0; r < to; r += kRows)
    for (int64_t k = 0; k < from; ++k)
      for (int64_t j = r; j < std::min(r + kRows, to); ++j) *packed++ = w[j * from + k];
}

/// R rows of out = w h for the tile h[from][kTile]. The maximum's operands are in this order so that a NaN
/// stays one.
template <int64_t R>
void register_tile(const float* HWY_RESTRICT w, int64_t from, const float* HWY_RESTRICT h, bool relu,
                   float* HWY_RESTRICT out, int64_t out_stride) {
  const Tag d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  for (int64_t t = 0; t < kTile; t += kVectors * lanes) {
    Vector sum[R][kVectors];
    for (int64_t r = 0; r < R; ++r)
      for (int64_t v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
#pragma GCC unroll 4  // of the instructions of a turn of 12 multiply-adds, counting would be a sixth
#endif
    for (int64_t k = 0; k < from; ++k) {
      Vector in[kVectors];
      for (int64_t v = 0; v < kVectors; ++v) in[v] = hn::Load(d, h + k * kTile + t + v * lanes);
      for (int64_t r = 0; r < R; ++r) {
        const Vector weight = hn::Set(d, w[k * R + r]);
        for (int64_t v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(weight, in[v], sum[r][v]);
      }
    }
    for (int64_t r = 0; r < R; ++r)
      for (int64_t v = 0; v < kVectors; ++v) {
        const Vector z = relu ? hn::Max(hn::Zero(d), sum[r][v]) : sum[r][v];
        hn::StoreU(z, d, out + r * out_stride + t + v * lanes);
      }
  }
}

#include "kernels/mlp_fwd/cpu/04_fused_tile-inl.h"

/// Samples [begin, end).
void network(const MlpFwd::Args<float>& x, int64_t begin, int64_t end) {
  const MlpFwd::Shape& s = x.shape;
  const int64_t rows = std::max({s.in, s.width, s.out});
  const auto packed = hwy::AllocateAligned<float>(size_t(s.weights()));
  const auto tiles = hwy::AllocateAligned<float>(size_t(2 * rows * kTile));
  float *h = tiles.get(), *next = h + rows * kTile;
  for (int64_t l = 0; l < s.layers(); ++l)
    pack(x.weights + s.weight_begin(l), s.to(l), s.from(l), packed.get() + s.weight_begin(l));
  for (int64_t i = begin; i < end; i += kTile) {
    const int64_t count = std::min(kTile, end - i);
    load_tile(x.x + i, s.in, s.n, count, h);
    for (int64_t l = 0; l < s.hidden; ++l) {
      layer(packed.get() + s.weight_begin(l), s.width, s.from(l), h, true, next, kTile);
      std::swap(h, next);
    }
    const bool whole = count == kTile;
    float* out = whole ? x.y + i : next;
    const int64_t stride = whole ? s.n : kTile;
    layer(packed.get() + s.weight_begin(s.hidden), s.out, s.width, h, false, out, stride);
    if (s.logistic) logistic(out, s.out, stride);
    if (!whole)
      for (int64_t r = 0; r < s.out; ++r) std::copy_n(next + r * kTile, count, x.y + r * s.n + i);
  }
}

KLAB_SIMD_END(network);

#if HWY_ONCE
namespace klab {
namespace {

constexpr int64_t kShare = 64;  // threads begin at multiples of the tile

void run(const MlpFwd::Args<float>& x) {
  const int64_t n = x.shape.n, tiles = (n + kShare - 1) / kShare;
#pragma omp parallel
  {
    const int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
    const int64_t begin = tiles * me / team * kShare, end = std::min(n, tiles * (me + 1) / team * kShare);
    if (begin < end) HWY_DYNAMIC_DISPATCH(network)(x, begin, end);
  }
}

KLAB_VARIANT(MlpFwd, {.run = run,
                      .parent = "04_fused_tile",
                      .expect = {.shape = {1 << 18, 32, 64, 2, 3, 1}, .over_parent = 1.6}});

}  // namespace
}  // namespace klab
#endif
