// Lab 04: sizes at which the softmax cross-entropy and its gradient are checked and timed.
#include "harness/core/lab.h"
#include "reference/softmax_xent_bwd/softmax_xent_bwd.h"
#include "reference/softmax_xent_fwd/softmax_xent_fwd.h"

namespace klab {
namespace {

// n rows, c classes
const std::vector<BenchShape> kBench = {
    {.name = "ten digits", .shape = {16384, 10}, .cache = Cache::hot},
    {.name = "a thousand classes", .shape = {4096, 1000}, .cache = Cache::cold, .tour = true},
    {.name = "a vocabulary", .shape = {128, 50257}, .cache = Cache::cold}};

const std::vector<std::vector<int64_t>> kSizes = {
    {0, 1, 2, 3, 5, 7, 8, 9, 31, 33, 100, 257, 1001, 6000},
    {1,  2,  3,  4,   5,   8,   9,   10,  15,   16,   17,   31,   32,   33,
     63, 64, 65, 100, 127, 128, 129, 257, 1000, 1023, 1025, 4099, 33000}};

/// One block per row has 256 threads that meet some ten times, however short the row.
double busiest(ShapeView s) { return 2560.0 * double(s[0]); }

// More rows than 65,535 blocks of 32 take, more rows and more columns than 16 bits count. Sums of a million terms are left out: the
// bound of random roundings does not hold where all terms are positive and lean the same way.
const std::vector<std::vector<int64_t>> kBeyond = {
    {65535 * 32 + 33, 1}, {(1 << 16) + 1, 5}, {2, (1 << 16) + 1}, {3, 33000}};

KLAB_LAB({
    .title = "Softmax and cross-entropy: reductions",
    .question = "How do many lanes agree on one sum, and how often must a row be read for it?",
    .ops = {{.op = make_op<SoftmaxXentFwd>(),
             .bench = kBench,
             .check = kSizes,
             .counted = {37, 301},
             .traffic = Traffic::read,
             .huge = 1.5e38,
             .beyond = kBeyond,
             .busiest = busiest},
            {.op = make_op<SoftmaxXentBwd>(),
             .bench = kBench,
             .check = kSizes,
             .counted = {37, 301},
             .counted_tour = {20, 1000},  // rows of whole packs of four, fewer than multiprocessors
             .traffic = Traffic::copy,
             .huge = 1.5e38,
             .beyond = kBeyond,
             .busiest = busiest}},
});

}  // namespace
}  // namespace klab
