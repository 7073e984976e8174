// Lab 03: sizes at which transpose and compact are checked and timed.
#include "harness/core/lab.h"
#include "reference/compact/compact.h"
#include "reference/transpose/transpose.h"

namespace klab {
namespace {

KLAB_LAB({
    .title = "Transposition: strides, cache lines, sets",
    .question = "Why does moving data in another order cost more than moving it?",
    .ops =
        {{
             .op = make_op<Transpose>(),
             .bench =
                 {{.name = "in L1", .shape = {48, 48}, .cache = Cache::hot},
                  {.name = "in L2", .shape = {256, 256}, .cache = Cache::hot},
                  {.name = "in L2, odd", .shape = {251, 257}, .cache = Cache::hot},
                  {.name = "beyond the caches, powers of two", .shape = {4096, 4096}, .cache = Cache::cold},
                  {.name = "beyond the caches, 8192 rows of 2048",
                   .shape = {8192, 2048},
                   .cache = Cache::cold,
                   .tour = true},
                  {.name = "beyond the caches", .shape = {4800, 4000}, .cache = Cache::cold},
                  {.name = "beyond the caches, odd", .shape = {4099, 4001}, .cache = Cache::cold},
                  {.name = "beyond the caches, input rows a power of two apart",
                   .shape = {4099, 4096},
                   .cache = Cache::cold}},
             .check = {{0,  1,  2,  3,  4,  5,  7,   8,   9,   12,  15,   16,   17,  31,
                        32, 33, 48, 63, 64, 65, 100, 128, 129, 251, 1008, 1024, 1041}},
             .counted = {99, 134},
             .traffic = Traffic::copy,
             .huge = 1e37,
             .nan_in = {"in"},
             .infinity_in = {"in"},
         },
         {
             .op = make_op<Compact>(),
             // d0 d1 d2, s0 s1 s2, offset
             .bench =
                 {{.name = "slice, in L2", .shape = {4, 64, 256, 32768, 512, 1, 64}, .cache = Cache::hot},
                  {.name = "slice: every other row",
                   .shape = {16, 512, 512, 524288, 1024, 1, 0},
                   .cache = Cache::cold},
                  {.name = "transposed",
                   .shape = {16, 512, 512, 262144, 1, 512, 0},
                   .cache = Cache::cold,
                   .tour =
                       true},
                  {.name = "channels last to first",
                   .shape = {64, 512, 512, 1, 32768, 64, 0},
                   .cache = Cache::cold},
                  {.name = "row broadcast", .shape = {16, 512, 512, 0, 0, 1, 0}, .cache = Cache::cold},
                  {.name = "column broadcast", .shape = {16, 512, 512, 512, 1, 0, 0}, .cache = Cache::cold}},
             .check = {{0, 1, 2, 3, 17, 64, 65},
                       {0, 1, 5, 16, 33, 63, 64},
                       {0, 1, 4, 15, 16, 17, 70},
                       {0, 1, 70, 1100},
                       {0, 1, 17, 71},
                       {0, 1, 2, 16, 33},
                       {0, 1, 5}},
             .traffic = Traffic::copy,
             .huge = 1e37,
             // Large ones, and views whose first and last strides are those of a contiguous one, or whose outer dimensions would be.
             .beyond = {{1, 1, (1 << 20) + 1, 0, 0, 1, 0},
                        {(1 << 16) + 1, 2, 3, 6, 3, 1, 5},
                        {2, (1 << 16) + 1, 3, 0, 5, 2, 1},
                        {5, 4, 16, 64, 17, 1, 0},
                        {5, 8, 16, 128, 0, 1, 3},
                        {7, 16, 16, 256, 16, 2, 0},
                        {6, 33, 17, 700, 17, 1, 2},
                        {9, 5, 1, 40, 7, 0, 3}},
             .nan_in = {"base"},
             .infinity_in = {"base"},
         }},
});

}  // namespace
}  // namespace klab
