// matmul_int8.cpu.05_threads: strips of 64 columns shared out among the cores.
//
// CHANGE    each thread packs and multiplies its own strips; where there are fewer strips than threads, they
//           are cut across the rows as well.
// EXPECT    as many times the parent as there are cores.
// NUMERICS  the parent's, bit for bit.
// NEEDS     AVX-512 VNNI.
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "harness/core/registrar.h"
#include "kernels/common/scratch.h"
#include "reference/matmul_int8/matmul_int8.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace klab {
namespace {

constexpr int64_t kRows = 6, kColumns = 64;  // of a tile of C: 24 vectors of sums
constexpr const char* kMissing = "needs a processor with AVX-512 VNNI; 02_loop_order and 03_simd run on any";

#if defined(__x86_64__)

#define KLAB_NATIVE __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))

#include "kernels/matmul_int8/cpu/04_vnni-inl.h"

void run(const MatmulInt8::Args<float>& x) {
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
    auto* packed = reinterpret_cast<uint32_t*>(scratch.floats((x.shape.k + 3) / 4 * kColumns));
    alignas(64) int32_t shift[kColumns];
#pragma omp for schedule(static)
    for (int64_t part = 0; part < strips * cuts; ++part) {
      const int64_t j = part / cuts * kColumns, cut = part % cuts;
      pack(x, j, packed, shift);
      strip(x, j, packed, shift, std::min(x.shape.m, tiles * cut / cuts * kRows),
            std::min(x.shape.m, tiles * (cut + 1) / cuts * kRows));
    }
  }
}

std::string supported(const MatmulInt8::Shape&, const Host&) {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") ? "" : kMissing;
}

#else

void run(const MatmulInt8::Args<float>&) {}
std::string supported(const MatmulInt8::Shape&, const Host&) { return kMissing; }

#endif

KLAB_VARIANT(MatmulInt8, {.run = run,
                          .parent = "04_vnni",
                          .tiles = {4, kRows, kColumns},
                          .expect = {.shape = {512, 512, 512}, .over_parent = 1.5},
                          .supported = supported});

}  // namespace
}  // namespace klab
