// Lab 13: sizes at which marching through the occupancy grid is checked and timed.
#include "harness/core/lab.h"
#include "reference/ray_march/ray_march.h"

namespace klab {
namespace {

KLAB_LAB({
    .title = "Ray marching: where to look, and where not to",
    .question = "How little work can it be to find the parts of a ray that matter?",
    .ops = {{
        .op = make_op<RayMarch>(),
        .bench =
            {{.name = "8192 rays, 128^3",
              .shape = {8192, 128, 1, 1024, 1 << 20},
              .cache = Cache::hot,
              .tour = true},
             {.name = "384 candidates, as training has it",
              .shape = {10752, 128, 1, 384, 1 << 20},
              .cache = Cache::hot},
             {.name = "blobs everywhere", .shape = {8192, 64, 1, 256, 1 << 20}, .cache = Cache::hot},
             {.name = "8192 rays, 3 cascades", .shape = {8192, 128, 3, 1024, 1 << 21}, .cache = Cache::hot}},
        .check = {{0, 1, 2, 63, 64, 65, 300},
                  {2, 4, 16, 64, 128},
                  {1, 2, 3},
                  {1, 7, 64, 1024},
                  {0, 1, 100, 5000, 30000}},
        .counted = {65, 16, 2, 64, 1500},
        .traffic = Traffic::copy,
        // More rays than 16 bits count, more room than 2^20 samples.
        .beyond = {{(1 << 16) + 1, 4, 1, 3, 1 << 17}, {2, 128, 3, 1024, (1 << 20) + 1}},
        // At most 1024 candidates per ray on the lattice that arrange() draws, some dozen operations each, and the
        // bytes of the grid, which two rungs condense.
        .busiest =
            [](ShapeView s) {
              const auto [rays, grid, cascades, most, capacity] = shape_of<RayMarch>(s);
              return 12.0 * double(std::clamp<int64_t>(most, 64, 1024)) * double(rays) +
                     double(cascades * grid * grid * grid) / 8;
            },
    }},
});

}  // namespace
}  // namespace klab
