// mlp_int8_fwd.cpu.02_vnni: four products and their sum, an instruction.
//
// CHANGE    VPDPBUSD multiplies 64 pairs of bytes and adds each four products to a 32-bit integer. Tiles of 64 samples go through all
//           layers, six units by four vectors of sums in registers; four channels of a sample lie in one word. The instruction's first
//           factor is unsigned: samples get 128 added, and 128 times a row's sum is subtracted at the end; hidden activations are
//           not negative. Threads share tiles out.
// EXPECT    four times the products of a float instruction, and for each layer one pass that finds scales and rounds: at least 20 times
//           the parent.
// NUMERICS  exact sums; a conversion and three products with scales.
// NEEDS     AVX-512 VNNI.
#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "harness/core/registrar.h"
#include "kernels/common/mlp/bf16.h"
#include "kernels/common/mlp/bytes.h"
#include "kernels/common/scratch.h"
#include "reference/mlp_int8_fwd/mlp_int8_fwd.h"

namespace klab {
namespace {

using mlp_bytes::fours;

constexpr int64_t kTile = 64;  // samples
constexpr int64_t kRows = 6, kLanes = 16, kVectors = kTile / kLanes;
constexpr const char* kMissing = "needs a processor with AVX-512 VNNI; 01_naive runs on any";

#if defined(__x86_64__)

#define KLAB_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))

/// Rounds a tile h [rows][kTile] to q [fours(rows)][kTile], and finds the scale of each sample, a / 127. `add`: 128 for numbers of
/// either sign, 0 for those that are not negative.
KLAB_VNNI void round_tile(const float* h, int64_t rows, int32_t add, uint32_t* q, float* scale) {
  const __m512 least = _mm512_set1_ps(MlpInt8Fwd::kLeast), steps = _mm512_set1_ps(127);
  const __m512i low = _mm512_set1_epi32(255), offset = _mm512_set1_epi32(add);
  for (int64_t t = 0; t < kTile; t += kLanes) {
    __m512 largest = _mm512_setzero_ps();
    for (int64_t c = 0; c < rows; ++c)
      largest = _mm512_max_ps(largest, _mm512_abs_ps(_mm512_loadu_ps(h + c * kTile + t)));
    const __mmask16 some = _mm512_cmp_ps_mask(largest, least, _CMP_GT_OQ);
    const __m512 by = _mm512_maskz_div_ps(some, steps, largest);
    _mm512_storeu_ps(scale + t, _mm512_maskz_div_ps(some, largest, steps));
    for (int64_t c = 0; c < rows; c += 4) {
      __m512i word = _mm512_setzero_si512();
      for (int64_t k = std::min(rows, c + 4) - 1; k >= c; --k) {
        const __m512i v = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(h + k * kTile + t), by));
        word =
            _mm512_or_si512(_mm512_slli_epi32(word, 8), _mm512_and_si512(low, _mm512_add_epi32(v, offset)));
      }
      _mm512_storeu_si512(q + c / 4 * kTile + t, word);
    }
  }
}

/// R rows of a layer for a tile: out [R][kTile].
template <int R>
KLAB_VNNI void product_rows(const uint32_t* w, int64_t terms, const uint32_t* q, const int32_t* shift,
                            const float* factors, const float* scale, bool relu, float* out) {
  __m512i sum[R][kVectors];
  for (int j = 0; j < R; ++j)
    for (int64_t v = 0; v < kVectors; ++v)
      sum[j][v] = _mm512_set1_epi32(shift == nullptr ? 0 : int32_t(0U - uint32_t(shift[j])));
  for (int64_t k = 0; k < terms; ++k) {
    __m512i in[kVectors];
    for (int64_t v = 0; v < kVectors; ++v) in[v] = _mm512_loadu_si512(q + k * kTile + v * kLanes);
    for (int j = 0; j < R; ++j) {
      const __m512i weight = _mm512_set1_epi32(int32_t(w[k * R + j]));
      for (int64_t v = 0; v < kVectors; ++v) sum[j][v] = _mm512_dpbusd_epi32(sum[j][v], in[v], weight);
    }
  }
  for (int j = 0; j < R; ++j)
    for (int64_t v = 0; v < kVectors; ++v) {
      const __m512 by = _mm512_mul_ps(_mm512_loadu_ps(scale + v * kLanes), _mm512_set1_ps(factors[j]));
      __m512 z = _mm512_mul_ps(_mm512_cvtepi32_ps(sum[j][v]), by);
      if (relu) z = _mm512_max_ps(_mm512_setzero_ps(), z);
      _mm512_storeu_ps(out + j * kTile + v * kLanes, z);
    }
}

/// All `rows` rows of a layer.
KLAB_VNNI void product(const uint32_t* w, int64_t rows, int64_t terms, const uint32_t* q,
                       const int32_t* shift, const float* factors, const float* scale, bool relu,
                       float* out) {
  constexpr decltype(&product_rows<1>) kProducts[] = {product_rows<1>, product_rows<2>, product_rows<3>,
                                                      product_rows<4>, product_rows<5>, product_rows<6>};
  for (int64_t r = 0; r < rows; r += kRows, w += kRows * terms)
    kProducts[std::min(kRows, rows - r) - 1](w, terms, q, shift == nullptr ? nullptr : shift + r, factors + r,
                                             scale, relu, out + r * kTile);
}

/// z = 1/(1 + e^-z) in place, for rows of kTile floats.
KLAB_VNNI void logistic(float* z, int64_t rows) {
  const __m512 one = _mm512_set1_ps(1), limit = _mm512_set1_ps(87), least = _mm512_set1_ps(-87);
  for (int64_t t = 0; t < rows * kTile; t += kLanes) {
    const __m512 held = _mm512_min_ps(limit, _mm512_max_ps(least, _mm512_loadu_ps(z + t)));
    const __m512 e = mlp_bf16::exp_lanes(_mm512_sub_ps(_mm512_setzero_ps(), held));
    _mm512_storeu_ps(z + t, _mm512_div_ps(one, _mm512_add_ps(one, e)));
  }
}

/// Samples [begin, end).
void network(const MlpInt8Fwd::Args<float>& x, const mlp_bytes::Packed& packed, int64_t begin, int64_t end) {
  static thread_local Scratch scratch;
  const MlpFwd::Shape& s = x.shape;
  const int64_t rows = std::max({s.in, s.width, s.out}), words = fours(std::max(s.in, s.width));
  float* const h = scratch.floats((rows + words + 1) * kTile);
  auto* const q = reinterpret_cast<uint32_t*>(h + rows * kTile);
  float* const scale = h + (rows + words) * kTile;
  for (int64_t i = begin; i < end; i += kTile) {
    const int64_t count = std::min(kTile, end - i);
    for (int64_t c = 0; c < s.in; ++c)
      std::fill(std::copy_n(x.x + c * s.n + i, count, h + c * kTile), h + (c + 1) * kTile, 0.0F);
    const uint32_t* w = packed.words;
    for (int64_t l = 0; l < s.layers(); ++l) {
      round_tile(h, s.from(l), l == 0 ? 128 : 0, q, scale);
      product(w, s.to(l), fours(s.from(l)), q, l == 0 ? packed.shift : nullptr, x.factors + l * s.width,
              scale, l < s.hidden, h);
      w += s.to(l) * fours(s.from(l));
    }
    if (s.logistic) logistic(h, s.out);
    for (int64_t r = 0; r < s.out; ++r) std::copy_n(h + r * kTile, count, x.y + r * s.n + i);
  }
}

void run(const MlpInt8Fwd::Args<float>& x) {
  static thread_local Scratch scratch;
  const MlpFwd::Shape& s = x.shape;
  const int64_t words = mlp_bytes::words_of(s);
  auto* const packed = reinterpret_cast<uint32_t*>(scratch.floats(words + s.width));
  auto* const shift = reinterpret_cast<int32_t*>(packed + words);
  mlp_bytes::pack<kRows>(x, packed, shift);
  const int64_t tiles = (s.n + kTile - 1) / kTile;
#pragma omp parallel
  {
    const int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
    const int64_t begin = tiles * me / team * kTile, end = std::min(s.n, tiles * (me + 1) / team * kTile);
    if (begin < end) network(x, {packed, shift}, begin, end);
  }
}

std::string supported(const MlpInt8Fwd::Shape&, const Host&) {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") ? "" : kMissing;
}

#else

void run(const MlpInt8Fwd::Args<float>&) {}
std::string supported(const MlpInt8Fwd::Shape&, const Host&) { return kMissing; }

#endif

KLAB_VARIANT(MlpInt8Fwd, {.run = run,
                          .parent = "01_naive",
                          .tiles = {4, kRows, kTile},
                          .expect = {.shape = {1 << 16, 32, 64, 2, 3, 1}, .over_parent = 20},
                          .supported = supported});

}  // namespace
}  // namespace klab
