// Lab 08: sizes at which the optimizer's step is checked and timed.
#include "harness/core/lab.h"
#include "reference/adam/adam.h"

namespace klab {
namespace {

KLAB_LAB({
    .title = "Adam: a step of the optimizer, dense and sparse",
    .question = "How fast can millions of parameters take one step when most of them have no gradient?",
    .ops = {{
        .op = make_op<Adam>(),
        .bench = {{.name = "hash table, dense, pairs",
                   .shape = {1 << 23, 2, 0},
                   .cache = Cache::cold,
                   .tour = true},
                  {.name = "hash table, 90 % zero, pairs", .shape = {1 << 23, 2, 90}, .cache = Cache::cold},
                  {.name = "hash table, 99 % zero, pairs", .shape = {1 << 23, 2, 99}, .cache = Cache::cold},
                  {.name = "in L3, dense, pairs", .shape = {1 << 20, 2, 0}, .cache = Cache::hot},
                  {.name = "matrix in L2", .shape = {8192, 8192, 0}, .cache = Cache::hot}},
        .check = {{0, 1, 2, 3, 7, 15, 16, 17, 31, 33, 64, 100, 1000, 4099, 40000},
                  {1, 2, 3, 4, 5, 8, 16, 32, 100, 20000},
                  {0, 50, 90, 100}},
        .counted = {4099, 2, 50},
        .traffic = Traffic::update,
        .nan_in = {"gradient"},
        .infinity_in = {"gradient"},
    }},
});

}  // namespace
}  // namespace klab
