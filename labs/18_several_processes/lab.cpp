// Lab 18: several processes that train together. The exchange between them is an op whose ranks are rows of
// one array, so that one process can check and time it. `klab train` does it between processes, and `klab
// scaling` measures those.
#include "harness/core/lab.h"
#include "reference/allreduce_gradients/allreduce_gradients.h"

namespace klab {
namespace {

KLAB_LAB({
    .title = "Several processes: what a gradient costs to share",
    .question = "How many bytes must travel so that N processes learn as one?",
    .ops = {{.op = make_op<AllreduceGradients>(),
             .bench = {{.name = "4 ranks of 2^18 entries, each touches 2 % of the blocks",
                        .shape = {4, 1 << 18, 64, 2},
                        .cache = Cache::hot,
                        .tour = true},
                       {.name = "4 ranks of 2^21 entries, beyond the caches, each touches 10 %",
                        .shape = {4, 1 << 21, 64, 10},
                        .cache = Cache::cold},
                       {.name = "the same with every block touched",
                        .shape = {4, 1 << 21, 64, 100},
                        .cache = Cache::cold}},
             .check = {{1, 2, 3, 4, 7},
                       {0, 1, 2, 63, 64, 65, 127, 1000, 5003},
                       {1, 3, 16, 64, 2000},
                       {0, 10, 100}},
             .counted = {3, 5001, 64, 10},
             .traffic = Traffic::read,
             .beyond = {{2, 70001, 64, 10}, {3, (1 << 20) + 77, 64, 30}},
             .nan_in = {"gradient"},
             .infinity_in = {"gradient"},
             .parameters = {"block", "touched_percent"}}},
    .commands = {"train", "scaling"},
});

}  // namespace
}  // namespace klab
