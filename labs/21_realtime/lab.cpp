// Lab 21: pictures of a trained field in real time. Its ladder is one of plans (klab realtime); the two ops that plans need and
// no other lab has are checked and timed here.
#include "harness/core/lab.h"
#include "reference/baked_rays/baked_rays.h"
#include "reference/cell_distance/cell_distance.h"

namespace klab {
namespace {

KLAB_LAB({
    .title = "Real time: what a picture can do without",
    .question = "What can a picture do without, so that it is drawn while you turn the camera?",
    .ops =
        {{
             .op = make_op<CellDistance>(),
             .bench = {{.name = "64^3", .shape = {64}, .cache = Cache::hot, .tour = true},
                       {.name = "128^3, as the hash field has it", .shape = {128}, .cache = Cache::hot}},
             .check = {{2, 4, 8, 16, 32, 64}},
             .traffic = Traffic::read,
             .beyond = {{128}},
         },
         {
             .op = make_op<BakedRays>(),
             .bench = {{.name = "8192 rays, 128^3",
                        .shape = {8192, 128, 1 << 18, 4},
                        .cache = Cache::hot,
                        .tour = true},
                       {.name = "the same, colors that do not depend on the view",
                        .shape = {8192, 128, 1 << 18, 1},
                        .cache = Cache::hot}},
             .check = {{0, 1, 2, 15, 16, 17, 65, 300}, {2, 4, 8, 16, 32}, {0, 1, 100, 5000, 30000}, {1, 4}},
             .traffic = Traffic::copy,
             .beyond = {{(1 << 16) + 1, 8, 100, 1}, {70, 128, 1 << 17, 4}},
             .parameters = {"basis"},
         }},
    .commands = {"realtime"},
});

}  // namespace
}  // namespace klab
