// error_map_draw.cpu.02_threads: views shared out among the cores.
//
// CHANGE    threads take views as they come: pictures may have sizes of their own.
// EXPECT    near the number of cores where there are as many views.
// NUMERICS  as the parent, bit for bit: views share nothing.
#include <algorithm>

#include "harness/core/registrar.h"
#include "reference/error_map_draw/error_map_draw.h"

namespace klab {
namespace {

#include "kernels/error_map_draw/cpu/01_naive-inl.h"

void run(const ErrorMapDraw::Args<float>& x) {
#pragma omp parallel for schedule(dynamic) if (x.shape.views > 1)
  for (int64_t v = 0; v < x.shape.views; ++v) draw_list(x, v);
}

KLAB_VARIANT(ErrorMapDraw, {.run = run, .parent = "01_naive"});

}  // namespace
}  // namespace klab
