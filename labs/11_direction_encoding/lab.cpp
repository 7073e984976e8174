// Lab 11: sizes at which the encodings of directions are checked and timed.
#include "harness/core/lab.h"
#include "reference/frequency_bwd/frequency_bwd.h"
#include "reference/frequency_fwd/frequency_fwd.h"
#include "reference/sh_bwd/sh_bwd.h"
#include "reference/sh_fwd/sh_fwd.h"

namespace klab {
namespace {

const std::vector<std::vector<int64_t>> kSizes = {{0, 1, 2, 3, 7, 8, 15, 16, 17, 33, 100, 1000, 40001},
                                                  {1, 2, 3, 4}};
const std::vector<BenchShape> kBench = {
    {.name = "degree 4 in L2", .shape = {1 << 12, 4}, .cache = Cache::hot},
    {.name = "degree 4, a training step", .shape = {1 << 18, 4}, .cache = Cache::hot},
    // Rows of the result that are a power of two apart map to one set of L1. Training steps rarely have
    // exactly that number of samples.
    {.name = "degree 4, rows that do not meet",
     .shape = {(1 << 18) + 80, 4},
     .cache = Cache::hot,
     .tour = true},
    {.name = "degree 4, beyond the caches", .shape = {1 << 22, 4}, .cache = Cache::cold}};

const std::vector<std::vector<int64_t>> kFrequencySizes = {
    {0, 1, 2, 3, 7, 8, 15, 16, 17, 33, 100, 1000, 20001}, {1, 2, 3}, {1, 2, 4, 10, 16}};
const std::vector<BenchShape> kFrequencyBench = {
    {.name = "10 octaves in L2", .shape = {1 << 11, 3, 10}, .cache = Cache::hot},
    {.name = "10 octaves, a training step", .shape = {1 << 18, 3, 10}, .cache = Cache::hot, .tour = true}};

KLAB_LAB({
    .title = "Direction encoding: common factors, then lanes",
    .question =
        "How fast can a direction become sixteen polynomials when the formulas share most of their factors?",
    .ops = {{.op = make_op<ShFwd>(),
             .bench = kBench,
             .check = kSizes,
             .counted = {1001, 4},
             .traffic = Traffic::copy,
             .huge = 1e11,
             .nan_in = {"directions"}},
            {.op = make_op<ShBwd>(),
             .bench = kBench,
             .check = kSizes,
             .counted = {1001, 4},
             .traffic = Traffic::read,
             .huge = 1e9},
            {.op = make_op<FrequencyFwd>(),
             .bench = kFrequencyBench,
             .check = kFrequencySizes,
             .counted = {333, 3, 4},
             .traffic = Traffic::copy},
            {.op = make_op<FrequencyBwd>(),
             .bench = kFrequencyBench,
             .check = kFrequencySizes,
             .counted = {333, 3, 4},
             .traffic = Traffic::read,
             .nan_in = {"d_features"}}},
});

}  // namespace
}  // namespace klab
