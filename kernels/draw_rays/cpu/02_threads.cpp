// draw_rays.cpu.02_threads: rays shared out among the cores.
//
// CHANGE   each thread takes a run of rays. A counter-based generator has no shared state.
// EXPECT   near the number of cores.
// TRIED    prefetching the pixels of later rays: NOTES.md
#include "harness/core/registrar.h"
#include "kernels/common/philox.h"
#include "kernels/common/rays/camera.h"
#include "reference/draw_rays/draw_rays.h"

namespace klab {
namespace {

#include "kernels/draw_rays/cpu/01_naive-inl.h"

void run(const DrawRays::Args<float>& x) {
  const int64_t live = *x.count;
#pragma omp parallel for schedule(static) if (x.shape.rays > 512)
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    if (r >= live) {
      no_ray(x, r);
      continue;
    }
    make_ray(x, r, draw(x, r));
  }
}

KLAB_VARIANT(DrawRays, {.run = run, .parent = "01_naive", .tiles = {512}});

}  // namespace
}  // namespace klab
