// ray_march.cpu.04_threads: rays are dealt to threads in chunks.
//
// CHANGE    threads march chunks of rays into buffers of their own; a prefix sum over the counts gives each
// ray its
//           place, and a second pass copies. No atomics, so the order does not depend on timing.
// EXPECT    close to the number of threads: rays do not depend on each other, the copy is small.
// NUMERICS  bit-exact by contract.
#include <algorithm>
#include <cstring>
#include <vector>
#include "harness/core/registrar.h"

#include "reference/ray_march/ray_march.h"

namespace klab {
namespace {

#include "kernels/ray_march/cpu/03_skip_blocks-inl.h"

constexpr int64_t kChunk = 64;  // rays

void run(const March::Args<float>& x) {
  const March::Shape& s = x.shape;
  const int64_t chunks = (s.rays + kChunk - 1) / kChunk;
  std::vector<std::vector<float>> kept(static_cast<size_t>(chunks));
  std::vector<int32_t> counts(static_cast<size_t>(s.rays));
#pragma omp parallel
  {
    std::vector<float> one(static_cast<size_t>(s.max_samples));
#pragma omp for schedule(dynamic)
    for (int64_t c = 0; c < chunks; ++c) {
      auto& mine = kept[static_cast<size_t>(c)];
      for (int64_t r = c * kChunk; r < std::min(s.rays, (c + 1) * kChunk); ++r) {
        const Ray ray{{x.origins[r], x.origins[s.rays + r], x.origins[2 * s.rays + r]},
                      {x.directions[r], x.directions[s.rays + r], x.directions[2 * s.rays + r]}};
        const int64_t count = march(x, ray, x.jitter[r], one.data());
        counts[static_cast<size_t>(r)] = int32_t(count);
        mine.insert(mine.end(), one.begin(), one.begin() + count);
      }
    }
  }
  int64_t total = 0;
  bool full = false;
  for (int64_t r = 0; r < s.rays; ++r) {
    x.ray_begin[r] = int32_t(total);
    full = full || total + counts[static_cast<size_t>(r)] > s.capacity;
    if (!full) total += counts[static_cast<size_t>(r)];
  }
  x.ray_begin[s.rays] = int32_t(total);
#pragma omp parallel for schedule(static)
  for (int64_t c = 0; c < chunks; ++c) {
    // A chunk's samples are contiguous in the result too; only its last rays may have been refused.
    const int64_t begin = x.ray_begin[c * kChunk];
    const int64_t end = x.ray_begin[std::min(s.rays, (c + 1) * kChunk)];
    for (int64_t i = begin; i < end; ++i) {
      const float t = kept[static_cast<size_t>(c)][static_cast<size_t>(i - begin)];
      x.t[i] = t;
      x.delta[i] = March::step_at(t, x.steps);
    }
  }
}

KLAB_VARIANT(RayMarch, {.run = run, .parent = "03_skip_blocks", .tiles = {64}});

}  // namespace
}  // namespace klab
