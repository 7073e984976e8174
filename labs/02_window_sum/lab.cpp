// Lab 02: sizes at which window_sum is checked and timed.
#include "harness/core/lab.h"
#include "reference/window_sum/window_sum.h"

namespace klab {
namespace {

KLAB_LAB({
    .title = "Window sums: neighbors share almost everything",
    .question = "What is the least work for a sum whose neighbor has all but one of its terms?",
    .ops = {{
        .op = make_op<WindowSum>(),
        // n, r
        .bench = {{.name = "radius 3, in L2", .shape = {65536, 3}, .cache = Cache::hot},
                  {.name = "radius 100, in L2", .shape = {65536, 100}, .cache = Cache::hot},
                  {.name = "radius 3, beyond the caches", .shape = {1 << 24, 3}, .cache = Cache::cold},
                  {.name = "radius 100, beyond the caches",
                   .shape = {1 << 22, 100},
                   .cache = Cache::cold,
                   .tour = true}},
        // The direct sums take n·(2r+1) additions, of which the cost formula knows nothing: sizes are modest.
        .check = {{0, 1, 2, 3, 7, 15, 16, 17, 31, 33, 64, 65, 127, 256, 257, 1000, 2500, 4099, 20011},
                  {0,  1,  2,  3,  4,   7,   8,   15,  16,  17,   18,  31,
                   32, 33, 63, 64, 100, 127, 128, 129, 500, 1100, 2100}},
        .counted = {1501, 5},
        .counted_tour = {1 << 15, 100},
        .traffic = Traffic::copy,
        .huge = 1e34,
        .nan_in = {"x"},
        .infinity_in = {"x"},
        .busiest =
            [](ShapeView s) {
              return double(s[0]) * WindowSum::terms({s[0], s[1]});
            },
    }},
});

}  // namespace
}  // namespace klab
