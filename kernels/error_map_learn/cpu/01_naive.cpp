// error_map_learn.cpu.01_naive: ray after ray.
//
// CHANGE   the naive loop. The order of rays is part of the result, so threads would have to share out blocks.
// EXPECT   a read and a write at any place of the map, 4 bytes a block of pixels: in a cache.
#include "harness/core/registrar.h"
#include "reference/error_map_learn/error_map_learn.h"

namespace klab {
namespace {

void run(const ErrorMapLearn::Args<float>& x) {
  constexpr float keep = ErrorMapLearn::kKeep;
  for (int64_t r = 0; r < *x.count; ++r) {
    if (x.block[r] < 0) continue;
    float& e = x.losses[x.block[r]];
    e = e < 0 ? x.value[r] : keep * e + (1 - keep) * x.value[r];
  }
}

KLAB_VARIANT(ErrorMapLearn, {.run = run});

}  // namespace
}  // namespace klab
