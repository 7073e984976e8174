// reduce.cpu.03_threads: a sum a thread.
//
// CHANGE    each thread sums a run of elements; the sums are added in the order of the runs.
// EXPECT    up to the number of cores, until memory binds: one core alone cannot have enough lines in flight.
// NUMERICS  the order of the additions follows from n and the number of threads.
// NEEDS     nothing. Few elements stay on one thread: waking a team costs a few thousand additions.
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "kernels/common/threads.h"
#include "reference/reduce/reduce.h"

KLAB_SIMD_BEGIN();

#include "kernels/reduce/cpu/02_simd-inl.h"

KLAB_SIMD_ONCE(sum_of);

#if HWY_ONCE
constexpr int64_t kEnough = 1 << 15;  // elements worth waking a team for
constexpr int64_t kLine = 16;         // floats, so that no two threads write one cache line

void run(const Reduce::Args<float>& x) {
  const int64_t n = x.shape.n;
  const auto part = HWY_DYNAMIC_DISPATCH(sum_of);
  if (n < kEnough) {
    *x.sum = part(x.x, 0, n);
    return;
  }
  std::vector<float> sums(size_t(omp_get_max_threads() * kLine));
  parallel_ranges(n, true, kLine, [&](int64_t i, int64_t end) {
    sums[size_t(omp_get_thread_num() * kLine)] = part(x.x, i, end);
  });
  float sum = 0;
  for (size_t k = 0; k < sums.size(); k += kLine) sum += sums[k];
  *x.sum = sum;
}

KLAB_VARIANT(Reduce, {.run = run,
                      .parent = "02_simd",
                      .tiles = {16, 128, kEnough},
                      .expect = {.shape = {1 << 24}, .over_parent = 1.2}});
KLAB_SIMD_CLOSE();
#endif
