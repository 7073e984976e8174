// matmul_bf16.cpu.04_threads: strips of 64 columns shared out among the cores.
//
// CHANGE    each thread packs and multiplies its own strips; where there are fewer strips than threads, they
//           are cut across the rows as well.
// EXPECT    as many times the parent as there are cores.
// NUMERICS  the parent's, bit for bit.
// NEEDS     AVX-512 BF16.
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "harness/core/registrar.h"
#include "kernels/common/scratch.h"
#include "reference/matmul_bf16/matmul_bf16.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace klab {
namespace {

constexpr int64_t kRows = 6, kColumns = 64;  // of a tile of C: 24 vectors of sums
constexpr const char* kMissing = "needs a processor with AVX-512 BF16; 02_loop_order runs on any";

#if defined(__x86_64__)

#define KLAB_NATIVE __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))

/// Columns [j, j + 64) of B as pairs (p, p + 1) next to each other, zeros beyond the matrix: [ceil(k/2), 64]
/// words.
KLAB_NATIVE void pack(const MatmulBf16::Args<float>& x, int64_t j, uint32_t* to) {
  const int64_t n = x.shape.n, k = x.shape.k, width = std::min(kColumns, n - j);
  for (int64_t p = 0; p < k; p += 2, to += kColumns) {
    const Bfloat16 *even = x.b + p * n + j, *odd = even + n;
    if (p + 1 < k)
      for (int64_t s = 0; s < width; ++s) to[s] = uint32_t(even[s]) | uint32_t(odd[s]) << 16;
    else
      for (int64_t s = 0; s < width; ++s) to[s] = uint32_t(even[s]);
    std::fill(to + width, to + kColumns, 0U);
  }
}

/// Rows [i, i + rows) of C, columns [j, j + 64).
template <int rows>
KLAB_NATIVE void tile(const MatmulBf16::Args<float>& x, int64_t i, int64_t j, const uint32_t* packed) {
  const int64_t n = x.shape.n, k = x.shape.k, width = std::min(kColumns, n - j);
  const Bfloat16* a = x.a + i * k;
  __m512 sums[rows][4];
  for (int r = 0; r < rows; ++r)
    for (int s = 0; s < 4; ++s) sums[r][s] = _mm512_setzero_ps();
  const auto pair = [&](int64_t p, auto pair_of) KLAB_NATIVE {
    __m512i b[4];
    for (int s = 0; s < 4; ++s) b[s] = _mm512_loadu_si512(packed + p / 2 * kColumns + 16 * s);
    for (int r = 0; r < rows; ++r) {
      const __m512i both = _mm512_set1_epi32(pair_of(a + r * k + p));
      for (int s = 0; s < 4; ++s)
        sums[r][s] =
            _mm512_dpbf16_ps(sums[r][s], reinterpret_cast<__m512bh>(both), reinterpret_cast<__m512bh>(b[s]));
    }
  };
  int64_t p = 0;
  for (; p + 2 <= k; p += 2)
    pair(p, [](const Bfloat16* from) {
      int32_t both;
      std::memcpy(&both, from, sizeof both);
      return both;
    });
  if (p < k) pair(p, [](const Bfloat16* from) { return int32_t(uint16_t(*from)); });
  for (int r = 0; r < rows; ++r)
    for (int s = 0; s < 4; ++s) {
      const int64_t count = std::clamp<int64_t>(width - 16 * s, 0, 16);
      _mm512_mask_storeu_ps(x.c + (i + r) * n + j + 16 * s, __mmask16((1U << count) - 1), sums[r][s]);
    }
}

/// Rows [i, end) of C, columns [j, j + 64).
void strip(const MatmulBf16::Args<float>& x, int64_t j, const uint32_t* packed, int64_t i, int64_t end) {
  for (; i + kRows <= end; i += kRows) tile<kRows>(x, i, j, packed);
  for (; i < end; ++i) tile<1>(x, i, j, packed);
}

void run(const MatmulBf16::Args<float>& x) {
  constexpr double kEnough = 1 << 18;  // products worth waking a team for
  const auto [m, n, k] = x.shape;
  const int64_t strips = (n + kColumns - 1) / kColumns;
  const int team = double(m) * double(n) * double(k) < kEnough ? 1 : omp_get_max_threads();
  // Few strips are cut across, in whole tiles of rows.
  const int64_t tiles = (m + kRows - 1) / kRows;
  const int64_t cuts =
      std::clamp<int64_t>((team + strips - 1) / std::max<int64_t>(strips, 1), 1, std::max<int64_t>(tiles, 1));
#pragma omp parallel num_threads(team)
  {
    static thread_local Scratch scratch;
    auto* packed = reinterpret_cast<uint32_t*>(scratch.floats((x.shape.k + 1) / 2 * kColumns));
#pragma omp for schedule(static)
    for (int64_t part = 0; part < strips * cuts; ++part) {
      const int64_t j = part / cuts * kColumns, cut = part % cuts;
      pack(x, j, packed);
      strip(x, j, packed, std::min(x.shape.m, tiles * cut / cuts * kRows),
            std::min(x.shape.m, tiles * (cut + 1) / cuts * kRows));
    }
  }
}

std::string supported(const MatmulBf16::Shape&, const Host&) {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw") ? "" : kMissing;
}

#else

void run(const MatmulBf16::Args<float>&) {}
std::string supported(const MatmulBf16::Shape&, const Host&) { return kMissing; }

#endif

KLAB_VARIANT(MatmulBf16, {.run = run,
                          .parent = "03_native_dot",
                          .tiles = {2, kRows, kColumns},
                          .expect = {.shape = {512, 512, 512}, .over_parent = 1.5},
                          .supported = supported});

}  // namespace
}  // namespace klab
