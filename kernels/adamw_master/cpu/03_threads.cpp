// adamw_master.cpu.03_threads: entries shared out among the cores.
//
// CHANGE    each thread takes a run of entries that begins at a cache line.
// EXPECT    the bandwidth of the memory, of which one core reaches a part.
// NUMERICS  as the parent, bit for bit: entries do not meet.
#include <omp.h>

#include <algorithm>
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/adamw_master/adamw_master.h"

namespace klab {
namespace {

#include "kernels/adamw_master/cpu/02_fused-inl.h"

void run(const AdamwMaster::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 14;  // entries worth waking a team for
  constexpr int64_t kLine = 32;         // weights in a cache line
  const int64_t n = x.shape.n, lines = (n + kLine - 1) / kLine;
  if (*x.first == AdamwMaster::kAllFinite) ++*x.steps;
  if (n < kEnough) return update(x, 0, n);
#pragma omp parallel
  {
    const int64_t t = omp_get_thread_num(), parts = omp_get_num_threads();
    update(x, std::min(n, lines * t / parts * kLine), std::min(n, lines * (t + 1) / parts * kLine));
  }
}

KLAB_VARIANT(AdamwMaster, {.run = run,
                           .parent = "02_fused",
                           .tiles = {32, 1 << 14},
                           .expect = {.shape = {1 << 22}, .over_parent = 1.3}});

}  // namespace
}  // namespace klab
