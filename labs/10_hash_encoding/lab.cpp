// Lab 10: sizes at which the hash encoding is checked and timed.
#include <cmath>

#include "harness/core/lab.h"
#include "reference/hashgrid_bwd/hashgrid_bwd.h"
#include "reference/hashgrid_fwd/hashgrid_fwd.h"
#include "reference/hashtable_bwd/hashtable_bwd.h"
#include "reference/hashtable_fwd/hashtable_fwd.h"
#include "reference/hashtable_narrow_fwd/hashtable_narrow_fwd.h"

namespace klab {
namespace {

// n, dim, levels, features, log2_table, base, finest, coherent. Small tables: every entry shared by many
// points, levels of a few entries, coarse levels dense and fine ones hashed, a resolution of one point.
const std::vector<std::vector<int64_t>> kCheck = {
    {0, 1, 2, 3, 15, 16, 17, 31, 63, 64, 65, 129, 257, 4099},  // n
    {2, 3},
    {1, 2, 5, 16},
    {1, 2, 4, 8},
    {3, 4, 7, 10},  // log2_table
    {1, 2, 16},
    {16, 37, 2048},
    {0, 1},
};

const std::vector<BenchShape> kBench = {
    {.name = "16x2, T 19, 2^16 random", .shape = {1 << 16, 3, 16, 2, 19, 16, 2048, 0}},
    {.name = "16x2, T 19, 2^18 random", .shape = {1 << 18, 3, 16, 2, 19, 16, 2048, 0}},
    {.name = "16x2, T 19, 2^18 along rays", .shape = {1 << 18, 3, 16, 2, 19, 16, 2048, 1}, .tour = true},
    {.name = "a part of a training step, the table in memory",
     .shape = {10000, 3, 16, 2, 18, 16, 2048, 1},
     .cache = Cache::cold},
    {.name = "8x4, T 19, 2^18 random", .shape = {1 << 18, 3, 8, 4, 19, 16, 2048, 0}},
};

// More points than 2^20 and 2^16; a table of more than 2^16 entries; the finest grid that exists, whose
// number of points exceeds an int.
const std::vector<std::vector<int64_t>> kBeyond = {{(1 << 20) + 1, 2, 1, 1, 4, 2, 16, 0},
                                                   {(1 << 16) + 1, 3, 1, 2, 10, 16, 16, 1},
                                                   {1000, 3, 1, 2, 19, 100, 100, 0},
                                                   {500, 3, 2, 1, 7, 1, 1 << 20, 0}};

// The same for a table whose layout is given as data: n, levels, features, entries, hash, blend, coherent.
const std::vector<std::vector<int64_t>> kTableCheck = {
    {0, 1, 2, 3, 15, 16, 17, 31, 63, 64, 65, 129, 257, 2051},  // n
    {1, 2, 5, 16},
    {1, 2, 4, 8},
    {256, 1000, 4096, 20000},  // entries
    {0, 1, 2, 3},
    {0, 1, 2},
    {0, 1},
};

const std::vector<BenchShape> kTableBench = {
    {.name = "16x2, 2^22 entries, primes", .shape = {1 << 18, 16, 2, 1 << 22, 0, 0, 1}, .tour = true},
    {.name = "16x2, 2^22 entries, Morton", .shape = {1 << 18, 16, 2, 1 << 22, 1, 0, 1}},
    {.name = "16x2, 2^22 entries, pcg", .shape = {1 << 18, 16, 2, 1 << 22, 2, 0, 1}},
    {.name = "16x2, 2^22 entries, tiled", .shape = {1 << 18, 16, 2, 1 << 22, 3, 0, 1}},
    {.name = "16x2, 2^22 entries, smoothstep", .shape = {1 << 18, 16, 2, 1 << 22, 0, 2, 1}},
};

const std::vector<std::vector<int64_t>> kTableBeyond = {{(1 << 20) + 1, 1, 1, 256, 0, 1, 0},
                                                        {(1 << 16) + 1, 1, 2, 4096, 1, 0, 1},
                                                        {1000, 2, 1, 1 << 20, 2, 2, 0}};

// And for one whose numbers are halves, bfloat16s or bytes.
const std::vector<std::vector<int64_t>> kNarrowCheck = {
    {0, 1, 2, 3, 15, 16, 17, 31, 63, 64, 65, 129, 257, 2051},  // n
    {1, 2, 5, 16},
    {1, 2, 4, 8},
    {256, 1000, 4096, 20000},  // entries
    {0, 1, 2, 3},
    {0, 1, 2},
    {0, 1},
    {0, 1, 2},  // format
};

const std::vector<BenchShape> kNarrowBench = {
    {.name = "16x2, 2^22 entries, int8", .shape = {1 << 18, 16, 2, 1 << 22, 0, 0, 1, 2}, .tour = true},
    {.name = "16x2, 2^22 entries, f16", .shape = {1 << 18, 16, 2, 1 << 22, 0, 0, 1, 0}},
    {.name = "16x2, 2^22 entries, bf16", .shape = {1 << 18, 16, 2, 1 << 22, 0, 0, 1, 1}},
};

const std::vector<std::vector<int64_t>> kNarrowBeyond = {{(1 << 20) + 1, 1, 1, 256, 0, 1, 0, 2},
                                                         {(1 << 16) + 1, 1, 2, 4096, 1, 0, 1, 0},
                                                         {1000, 2, 1, 1 << 20, 2, 2, 0, 1}};

KLAB_LAB({
    .title = "Hash encoding: random access, and hiding it",
    .question = "How fast can a program read, and add to, memory at random?",
    .ops = {{
                .op = make_op<HashgridFwd>(),
                .bench = kBench,
                .check = kCheck,
                .counted = {257, 3, 5, 2, 10, 4, 128, 1},
                .traffic = Traffic::copy,
                .huge = 6e4,  // representable in half precision
                .beyond = kBeyond,
            },
            {
                .op = make_op<HashgridBwd>(),
                .bench = kBench,
                .check = kCheck,
                .counted = {257, 3, 5, 2, 10, 4, 128, 1},
                // A smaller table than the tour's, since halving the points does not make it smaller.
                .counted_tour = {1024, 3, 16, 2, 15, 16, 2048, 1},
                .traffic = Traffic::copy,
                .beyond = kBeyond,
                // The sorting rung visits all entries of each level several times, even those that no point
                // touches.
                .busiest =
                    [](ShapeView s) {
                      const auto g = shape_of<HashgridBwd>(s);
                      return 30.0 * double(g.levels) * std::ldexp(1.0, int(g.log2_table)) +
                             8.0 * double(g.n) * double(g.levels);
                    },
            },
            {
                .op = make_op<HashtableFwd>(),
                .bench = kTableBench,
                .check = kTableCheck,
                .counted = {257, 5, 2, 5000, 0, 0, 1},
                .traffic = Traffic::copy,
                .huge = 1e30,
                .beyond = kTableBeyond,
                .parameters = {"hash", "blend", "coherent"},
            },
            {
                .op = make_op<HashtableNarrowFwd>(),
                .bench = kNarrowBench,
                .check = kNarrowCheck,
                .counted = {257, 5, 2, 5000, 0, 0, 1, 2},
                .traffic = Traffic::copy,
                .beyond = kNarrowBeyond,
                .parameters = {"hash", "blend", "coherent", "format"},
            },
            {
                .op = make_op<HashtableBwd>(),
                .bench = kTableBench,
                .check = kTableCheck,
                .counted = {257, 5, 2, 5000, 0, 0, 1},
                .traffic = Traffic::copy,
                .beyond = kTableBeyond,
                .parameters = {"hash", "blend", "coherent"},
            }},
});

}  // namespace
}  // namespace klab
