// Lab 01: sizes at which vector_add is checked and timed.
#include "harness/core/lab.h"
#include "reference/host_vector_add/host_vector_add.h"
#include "reference/vector_add/vector_add.h"

namespace klab {
namespace {

KLAB_LAB({
    .title = "Vector addition: lanes, alignment, threads",
    .question = "How fast can a loop with one addition in it run?",
    .ops =
        {{
             .op = make_op<VectorAdd>(),
             .bench = {{.name = "in L1", .shape = {2048}, .cache = Cache::hot},
                       {.name = "in L2", .shape = {65536}, .cache = Cache::hot},
                       {.name = "beyond the caches", .shape = {1 << 25}, .cache = Cache::cold, .tour = true}},
             .check = {{0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 1000, 4099, 100003}},
             .counted = {4099},
             .counted_tour = {1 << 19},  // more blocks than a GPU holds at once
             .traffic = Traffic::copy,
             .huge = 1e37,
             .nan_in = {"a", "b"},
             .infinity_in = {"a", "b"},
         },
         {
             .op = make_op<HostVectorAdd>(),
             .bench = {{.name = "one page", .shape = {1024}, .cache = Cache::hot},
                       {.name = "a megabyte", .shape = {1 << 18}, .cache = Cache::hot},
                       {.name = "beyond the caches", .shape = {1 << 25}, .cache = Cache::hot, .tour = true}},
             .check = {{0, 1, 2, 3, 4, 5, 17, 255, 256, 257, 1000, 4099, 100003, 2100000}},
             .counted = {5003},
             .traffic = Traffic::copy,
             .huge = 1e37,
             .nan_in = {"a", "b"},
             .infinity_in = {"a", "b"},
         }},
});

}  // namespace
}  // namespace klab
