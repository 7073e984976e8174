// Lab 12: sizes at which the network is checked and timed.
#include "harness/core/lab.h"
#include "reference/mlp_bwd/mlp_bwd.h"
#include "reference/mlp_fwd/mlp_fwd.h"
#include "reference/mlp_int8_fwd/mlp_int8_fwd.h"
#include "reference/mlp_narrow_fwd/mlp_narrow_fwd.h"

namespace klab {
namespace {

// n, in, width, hidden, out, logistic
const std::vector<std::vector<int64_t>> kCheck = {
    {0, 1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 300,
     521},  // one below, at and above every tile of samples
    {1, 2, 3, 5, 6, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 128},  //
    {1, 3, 5, 6, 7, 16, 17, 32, 37, 63, 64, 65, 128},
    {1, 2, 3},
    {1, 2, 3, 5, 6, 7, 12, 13, 16, 17, 33, 64},
    {0, 1},
};

// The two networks of the radiance field: density, and color.
const std::vector<BenchShape> kBench = {
    {.name = "density 32-64-16", .shape = {1 << 18, 32, 64, 1, 16, 0}},
    {.name = "color 32-64-64-3", .shape = {1 << 18, 32, 64, 2, 3, 1}},
    {.name = "density, rows that begin anywhere", .shape = {(1 << 15) + 5, 32, 64, 1, 16, 0}},
    {.name = "color, a quarter of the samples", .shape = {1 << 16, 32, 64, 2, 3, 1}, .tour = true},
};

// Past 2^20 and 2^16 samples, 2^16 channels and outputs, and 1024 units, each with the other dimensions
// small.
const std::vector<std::vector<int64_t>> kBeyond = {{(1 << 20) + 1, 1, 1, 1, 1, 0},
                                                   {(1 << 16) + 1, 2, 3, 1, 2, 1},
                                                   {3, (1 << 16) + 1, 2, 1, 1, 0},
                                                   {2, 3, 1025, 1, 2, 1},
                                                   {2, 2, 2, 2, (1 << 16) + 1, 0}};

// The same networks with weights in few bits; the last number is the format.
const std::vector<std::vector<int64_t>> kNarrowCheck = {
    {0, 1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 300, 521},
    {1, 2, 3, 5, 6, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 128},
    {1, 3, 5, 6, 7, 16, 17, 32, 37, 63, 64, 65, 128},
    {1, 2, 3},
    {1, 2, 3, 5, 6, 7, 12, 13, 16, 17, 33, 64},
    {0, 1},
    {0, 1, 2},
};
const std::vector<BenchShape> kNarrowBench = {
    {.name = "density 32-64-16, int8", .shape = {1 << 18, 32, 64, 1, 16, 0, 2}},
    {.name = "color 32-64-64-3, bf16", .shape = {1 << 18, 32, 64, 2, 3, 1, 1}},
    {.name = "color, a quarter of the samples, int8", .shape = {1 << 16, 32, 64, 2, 3, 1, 2}, .tour = true},
};
const std::vector<std::vector<int64_t>> kNarrowBeyond = {{(1 << 20) + 1, 1, 1, 1, 1, 0, 2},
                                                         {(1 << 16) + 1, 2, 3, 1, 2, 1, 0},
                                                         {3, (1 << 16) + 1, 2, 1, 1, 0, 1},
                                                         {2, 3, 1025, 1, 2, 1, 2},
                                                         {2, 2, 2, 2, (1 << 16) + 1, 0, 0}};
// Values grow by a factor per layer: four layers of huge inputs and weights must stay finite.
constexpr double kHuge = 1e5;

KLAB_LAB({
    .title = "Fused network: 64 units that never leave the chip",
    .question =
        "How close to the arithmetic peak can a small network come, when moving its activations costs more "
        "than computing them?",
    .ops = {{.op = make_op<MlpFwd>(),
             .bench = kBench,
             .check = kCheck,
             .counted = {77, 19, 35, 2, 5, 1},
             .counted_tour = {1001, 19, 35, 2, 5, 1},  // more samples than a block has
             .check_flops = 1e7,
             .traffic = Traffic::copy,
             .huge = kHuge,
             .beyond = kBeyond,
             .parameters = {"hidden", "logistic"}},
            {.op = make_op<MlpNarrowFwd>(),
             .bench = kNarrowBench,
             .check = kNarrowCheck,
             .counted = {77, 19, 35, 2, 5, 1, 2},
             .check_flops = 1e7,
             .traffic = Traffic::copy,
             .huge = kHuge,
             .beyond = kNarrowBeyond,
             .parameters = {"hidden", "logistic", "format"}},
            {.op = make_op<MlpInt8Fwd>(),
             .bench = kBench,
             .check = kCheck,
             .counted = {77, 19, 35, 2, 5, 1},
             .check_flops = 1e7,
             .traffic = Traffic::copy,
             .huge = kHuge,
             .beyond = kBeyond,
             .parameters = {"hidden", "logistic"}},
            {.op = make_op<MlpBwd>(),
             .bench = kBench,
             .check = kCheck,
             .counted = {77, 19, 35, 2, 5, 1},
             .check_flops = 1e7,
             .traffic = Traffic::copy,
             .huge = kHuge,
             .beyond = kBeyond,
             .parameters = {"hidden", "logistic"}}},
});

}  // namespace
}  // namespace klab
