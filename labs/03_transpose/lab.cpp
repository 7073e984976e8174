// Lab 03: sizes at which transpose is checked and timed.
#include "harness/lab.h"
#include "reference/transpose/transpose.h"

namespace klab {
namespace {

KLAB_LAB({
    .title = "Transposition: strides, cache lines, sets",
    .question = "Why does moving data in another order cost more than moving it?",
    .ops = {{
        .op = make_op<Transpose>(),
        .bench = {{.name = "in L1", .shape = {48, 48}, .cache = Cache::hot},
                  {.name = "in L2", .shape = {256, 256}, .cache = Cache::hot},
                  {.name = "in L2, odd", .shape = {251, 257}, .cache = Cache::hot},
                  {.name = "beyond the caches, powers of two",
                   .shape = {4096, 4096},
                   .cache = Cache::cold,
                   .tour = true},
                  {.name = "beyond the caches", .shape = {4800, 4000}, .cache = Cache::cold},
                  {.name = "beyond the caches, odd", .shape = {4099, 4001}, .cache = Cache::cold}},
        .check = {{0,  1,  2,  3,  4,  5,  7,  8,  9,   12,  15,  16,
                   17, 31, 32, 33, 48, 63, 64, 65, 100, 128, 129, 251}},
        .limit = "copy",
        .huge = 1e37,
    }},
});

}  // namespace
}  // namespace klab
