// error_map_weigh.cpu.01_naive: ray after ray.
//
// CHANGE   the naive loop.
// EXPECT   ten rounds of the generator a ray, some 60 instructions; lists of a hundred views lie in a cache.
#include "harness/core/registrar.h"
#include "kernels/common/philox.h"
#include "reference/error_map_weigh/error_map_weigh.h"

namespace klab {
namespace {

void run(const ErrorMapWeigh::Args<float>& x) {
  const ErrorMapWeigh::Shape& s = x.shape;
  for (int64_t r = 0; r < s.rays; ++r) {
    x.block[r] = -1;
    if (r >= *x.count) continue;
    const PhiloxWords words = philox(uint64_t(r), x.seed, x.step);
    const auto view = int64_t(uint64_t(words.w[0]) * uint64_t(s.views) >> 32);
    const int64_t at = view * s.list + int64_t(uint64_t(words.w[1]) * uint64_t(s.list) >> 32);
    x.weight[r] *= x.weights[at];
    x.block[r] = x.blocks[at];
  }
}

KLAB_VARIANT(ErrorMapWeigh, {.run = run});

}  // namespace
}  // namespace klab
