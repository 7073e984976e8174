// Lab 07: sizes at which normalizations and dropout are checked and timed.
#include "harness/core/lab.h"
#include "reference/batchnorm_bwd/batchnorm_bwd.h"
#include "reference/batchnorm_fwd/batchnorm_fwd.h"
#include "reference/batchnorm_inference/batchnorm_inference.h"
#include "reference/batchnorm_inference_bwd/batchnorm_inference_bwd.h"
#include "reference/dropout_bwd/dropout_bwd.h"
#include "reference/dropout_fwd/dropout_fwd.h"
#include "reference/groupnorm_bwd/groupnorm_bwd.h"
#include "reference/groupnorm_fwd/groupnorm_fwd.h"
#include "reference/layernorm_bwd/layernorm_bwd.h"
#include "reference/layernorm_fwd/layernorm_fwd.h"
#include "reference/layernorm_residual_fwd/layernorm_residual_fwd.h"
#include "reference/rmsnorm_bwd/rmsnorm_bwd.h"
#include "reference/rmsnorm_fwd/rmsnorm_fwd.h"

namespace klab {
namespace {

using Sizes = std::vector<std::vector<int64_t>>;

// n rows, c features
const std::vector<BenchShape> kRows = {
    {.name = "tokens, a thousand features", .shape = {8192, 1024}, .cache = Cache::cold, .tour = true},
    {.name = "tokens in L2", .shape = {128, 768}, .cache = Cache::hot},
    {.name = "tokens in L3", .shape = {1536, 1024}, .cache = Cache::hot},
    {.name = "short rows", .shape = {65536, 100}, .cache = Cache::cold},
    {.name = "rows that no cache holds", .shape = {4, 1 << 22}, .cache = Cache::cold}};
const Sizes kRowSizes = {
    {0, 1, 2, 3, 5, 8, 9, 17, 33, 100, 257, 1500},
    {1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 129, 257, 1000, 1025, 4099}};

// n examples, c channels, hw positions
const std::vector<BenchShape> kImages = {
    {.name = "images 56², 64 channels", .shape = {32, 64, 56 * 56}, .cache = Cache::cold, .tour = true},
    {.name = "images 7², 512 channels", .shape = {32, 512, 49}, .cache = Cache::hot},
    {.name = "features, no positions", .shape = {8192, 1024, 1}, .cache = Cache::cold}};
const Sizes kImageSizes = {
    {1, 2, 3, 5, 8, 33, 130}, {0, 1, 2, 3, 7, 16, 17, 33, 64, 100}, {1, 2, 4, 9, 16, 49, 100, 784}};

// n examples, groups, channels of each, hw positions
const std::vector<BenchShape> kGroups = {
    {.name = "images 56², 32 groups of 2", .shape = {32, 32, 2, 56 * 56}, .cache = Cache::cold, .tour = true},
    {.name = "images 7², 32 groups of 16", .shape = {32, 32, 16, 49}, .cache = Cache::hot}};
const Sizes kGroupSizes = {
    {0, 1, 2, 3, 5, 9}, {1, 2, 3, 8, 32}, {1, 2, 3, 4, 16}, {1, 2, 4, 9, 17, 49, 100, 784}};

const std::vector<BenchShape> kElements = {
    {.name = "activations", .shape = {1 << 23}, .cache = Cache::cold, .tour = true},
    {.name = "activations in L2", .shape = {1 << 16}, .cache = Cache::hot}};
const Sizes kElementSizes = {
    {0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 1000, 4099, 70000, 1100003}};

/// A block per row has 256 threads that synchronize about twenty times, even if the row is short.
double block_per_row(ShapeView s) { return 5120.0 * double(s[0]); }
/// Uses a block per group of each example.
double block_per_group(ShapeView s) { return 5120.0 * double(s[0]) * double(s[1]); }
double block_per_channel(ShapeView s) { return 5120.0 * double(s[1]); }
/// Uses a block per run of a channel, whose threads do not synchronize.
double block_per_run(ShapeView s) { return 1024.0 * double(s[0]) * double(s[1]); }

KLAB_LAB({
    .title = "Normalization and dropout: two sums, one pass",
    .question = "How often must a row be read to be normalized, and what is a mean worth in float?",
    .ops = {{.op = make_op<LayernormFwd>(),
             .bench = kRows,
             .check = kRowSizes,
             .counted = {37, 300},
             .counted_tour = {20, 1024},  // fewer rows than multiprocessors
             .traffic = Traffic::copy,
             .busiest = block_per_row},
            {.op = make_op<LayernormBwd>(),
             .bench = kRows,
             .check = kRowSizes,
             .counted = {37, 300},
             .traffic = Traffic::copy,
             .huge = 1e9,
             .busiest = block_per_row},
            {.op = make_op<LayernormResidualFwd>(),
             .bench = {kRows[0], kRows[1]},
             .check = kRowSizes,
             .counted = {37, 300},
             .traffic = Traffic::copy,
             .busiest = block_per_row},
            {.op = make_op<RmsnormFwd>(),
             .bench = {kRows[0], kRows[1]},
             .check = kRowSizes,
             .counted = {37, 300},
             .traffic = Traffic::copy},
            {.op = make_op<RmsnormBwd>(),
             .bench = {kRows[0], kRows[1]},
             .check = kRowSizes,
             .counted = {37, 300},
             .traffic = Traffic::copy,
             .huge = 1e9},
            {.op = make_op<BatchnormFwd>(),
             .bench = kImages,
             .check = kImageSizes,
             .counted = {3, 33, 121},
             .traffic = Traffic::copy,
             .busiest = block_per_channel},
            {.op = make_op<BatchnormInference>(),
             .bench = kImages,
             .check = kImageSizes,
             .counted = {3, 33, 196},
             .traffic = Traffic::copy,
             .busiest = block_per_run},
            {.op = make_op<BatchnormInferenceBwd>(),
             .bench = kImages,
             .check = kImageSizes,
             .counted = {3, 33, 121},
             .traffic = Traffic::copy,
             .huge = 1e9,
             .busiest = block_per_channel},
            {.op = make_op<BatchnormBwd>(),
             .bench = kImages,
             .check = kImageSizes,
             .counted = {3, 33, 121},
             .traffic = Traffic::copy,
             .huge = 1e9,
             .busiest = block_per_channel},
            {.op = make_op<GroupnormFwd>(),
             .bench = kGroups,
             .check = kGroupSizes,
             .counted = {3, 11, 3, 121},
             .traffic = Traffic::copy,
             .busiest = block_per_group},
            {.op = make_op<GroupnormBwd>(),
             .bench = kGroups,
             .check = kGroupSizes,
             .counted = {3, 11, 3, 121},
             .traffic = Traffic::copy,
             .huge = 1e9,
             .busiest = block_per_group},
            {.op = make_op<DropoutFwd>(),
             .bench = kElements,
             .check = kElementSizes,
             .counted = {4099},
             .traffic = Traffic::copy},
            {.op = make_op<DropoutBwd>(),
             .bench = kElements,
             .check = kElementSizes,
             .counted = {4099},
             .traffic = Traffic::copy}},
});

}  // namespace
}  // namespace klab
