// cast.cpu.04_threads: numbers shared out among the cores.
//
// CHANGE    each thread takes a run of numbers whose results begin at a cache line.
// EXPECT    the bandwidth of the memory, of which one core reaches a part.
// NUMERICS  the contract's bits.
#include <omp.h>

#include <algorithm>
#include <cstring>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/cast/cast.h"

KLAB_SIMD_BEGIN();

#include "kernels/cast/cpu/03_simd-inl.h"

KLAB_SIMD_ONCE(convert);

#if HWY_ONCE
void run(const Cast::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 15;  // numbers worth waking a team for
  constexpr int64_t kLine = 64;         // results of a byte in a cache line
  const int64_t n = x.shape.n, lines = (n + kLine - 1) / kLine;
  const auto part = HWY_DYNAMIC_DISPATCH(convert);
  if (n < kEnough) return part(x, 0, n);
#pragma omp parallel
  {
    const int64_t t = omp_get_thread_num(), parts = omp_get_num_threads();
    part(x, std::min(n, lines * t / parts * kLine), std::min(n, lines * (t + 1) / parts * kLine));
  }
}

KLAB_VARIANT(Cast, {.run = run,
                    .parent = "03_simd",
                    .tiles = {16, 1 << 15},
                    .expect = {.shape = {1 << 22, 1}, .over_parent = 1.2}});
KLAB_SIMD_CLOSE();
#endif
