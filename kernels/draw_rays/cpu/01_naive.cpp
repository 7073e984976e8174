// draw_rays.cpu.01_naive: ray after ray.
//
// CHANGE   the naive loop: draw, read the pixel, undo the lens.
// EXPECT   a random pixel of all the pictures misses every cache, and the loop waits for each.
#include "harness/core/registrar.h"
#include "kernels/common/philox.h"
#include "kernels/common/rays/camera.h"
#include "reference/draw_rays/draw_rays.h"

namespace klab {
namespace {

#include "kernels/draw_rays/cpu/01_naive-inl.h"

void run(const DrawRays::Args<float>& x) {
  for (int64_t r = 0; r < x.shape.rays; ++r)
    if (r < *x.count)
      make_ray(x, r, draw(x, r));
    else
      no_ray(x, r);
}

KLAB_VARIANT(DrawRays, {.run = run});

}  // namespace
}  // namespace klab
