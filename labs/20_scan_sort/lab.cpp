// Lab 20: sizes at which reduce, scan and histogram are checked and timed.
#include "harness/core/lab.h"
#include "reference/histogram/histogram.h"
#include "reference/reduce/reduce.h"
#include "reference/scan/scan.h"

namespace klab {
namespace {

KLAB_LAB({
    .title = "Reduce, scan, histogram: one answer from all threads",
    .question = "How do thousands of threads agree on one result without waiting for one of them?",
    .ops =
        {{
             .op = make_op<Reduce>(),
             .bench = {{.name = "in L1", .shape = {2048}, .cache = Cache::hot},
                       {.name = "in L2", .shape = {65536}, .cache = Cache::hot},
                       {.name = "beyond the caches", .shape = {1 << 24}, .cache = Cache::cold, .tour = true},
                       {.name = "2^26", .shape = {1 << 26}, .cache = Cache::cold}},
             .check = {{0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 1000, 4099, 100003}},
             .counted = {70001},
             .counted_tour = {1 << 18},
             .traffic = Traffic::read,
             .huge = 1e30,
             .nan_in = {"x"},
             .infinity_in = {"x"},
         },
         {
             .op = make_op<Scan>(),
             .bench = {{.name = "in L1", .shape = {2048}, .cache = Cache::hot},
                       {.name = "in L2", .shape = {65536}, .cache = Cache::hot},
                       {.name = "beyond the caches", .shape = {1 << 24}, .cache = Cache::cold, .tour = true},
                       {.name = "2^26", .shape = {1 << 26}, .cache = Cache::cold}},
             .check = {{0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 1000, 4099, 100003}},
             .counted = {20011},
             .counted_tour = {1 << 17},
             .traffic = Traffic::copy,
         },
         {
             .op = make_op<Histogram>(),
             .bench = {{.name = "in L1", .shape = {2048}, .cache = Cache::hot},
                       {.name = "in L2", .shape = {65536}, .cache = Cache::hot},
                       {.name = "beyond the caches", .shape = {1 << 24}, .cache = Cache::cold, .tour = true},
                       {.name = "2^26", .shape = {1 << 26}, .cache = Cache::cold}},
             .check = {{0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 1000, 4099, 100003}},
             .counted = {20011},
             .counted_tour = {1 << 17},
             .traffic = Traffic::read,
         }},
});

}  // namespace
}  // namespace klab
