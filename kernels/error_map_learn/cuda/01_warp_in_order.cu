// error_map_learn.cuda.01_warp_in_order: 32 rays at a time.
//
// CHANGE   one warp walks over the rays. Lanes whose rays are of one block take turns in the order of rays; all others take theirs at
//          once.
// EXPECT   two loads of neighbors and one round trip to the map for 32 rays, and one more for each ray that meets another: the
//          latency of some hundred round trips, on one multiprocessor.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/error_map_learn/error_map_learn.h"

namespace klab {
namespace {

constexpr int kLanes = 32;
constexpr unsigned kAll = ~0U;

__global__ void __launch_bounds__(kLanes) learn(ErrorMapLearn::Args<float> x) {
  constexpr float keep = ErrorMapLearn::kKeep;
  const int lane = int(threadIdx.x);
  const int64_t count = *x.count;
  for (int64_t first = 0; first < count; first += kLanes) {
    const int64_t r = first + lane;
    const int block = r < count ? x.block[r] : -1;
    const float value = r < count ? x.value[r] : 0.0F;
    const unsigned same = __match_any_sync(kAll, block);
    const int before = __popc(same & ((1U << lane) - 1)), turns = block < 0 ? 0 : __popc(same);
    for (int turn = 0; __any_sync(kAll, turn < turns); ++turn) {
      if (turn == before && block >= 0) {
        const float e = x.losses[block];
        x.losses[block] = e < 0 ? value : keep * e + (1 - keep) * value;
      }
      __syncwarp();
    }
  }
}

void run(const ErrorMapLearn::Args<float>& x) {
  if (x.shape.rays > 0) cuda::launch(learn, dim3(1), dim3(kLanes), 0, x);
}

KLAB_VARIANT(ErrorMapLearn, {.run = run, .tiles = {kLanes}});

}  // namespace
}  // namespace klab
