// Lab 09: sizes at which ops with few bits are checked and timed.
#include "harness/core/lab.h"
#include "reference/adamw_master/adamw_master.h"
#include "reference/cast/cast.h"
#include "reference/matmul_bf16/matmul_bf16.h"
#include "reference/matmul_fp8/matmul_fp8.h"
#include "reference/matmul_fp8_tn/matmul_fp8_tn.h"
#include "reference/matmul_int8/matmul_int8.h"
#include "reference/matmul_int8_tn/matmul_int8_tn.h"
#include "reference/matvec_int4/matvec_int4.h"
#include "reference/round_narrow/round_narrow.h"

namespace klab {
namespace {

using Sizes = std::vector<std::vector<int64_t>>;

const Sizes kElements = {
    {0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 1000, 1025, 4099, 40000}};

// m, n, k
const std::vector<BenchShape> kProducts = {{.name = "512 cubed", .shape = {512, 512, 512}, .tour = true},
                                           {.name = "1024 cubed", .shape = {1024, 1024, 1024}},
                                           {.name = "2048 cubed", .shape = {2048, 2048, 2048}},
                                           {.name = "512x384x1000", .shape = {512, 384, 1000}}};
const std::vector<BenchShape> kStoredTn = {{.name = "512 cubed", .shape = {512, 512, 512}, .tour = true},
                                           {.name = "2048 cubed", .shape = {2048, 2048, 2048}},
                                           {.name = "4096 cubed", .shape = {4096, 4096, 4096}}};
// Rows, columns and sums past 2^16, while the other dimensions are small.
const Sizes kProductBeyond = {{(1 << 16) + 1, 2, 3}, {2, (1 << 16) + 1, 3}, {2, 3, (1 << 17) - 1}};
const Sizes kProductSizes = {{0, 1, 2, 3, 5, 7, 13, 31, 61, 127, 251}};
// Sums of 1100 products of bytes reach integers that a float does not hold.
const Sizes kByteProductSizes = {{0, 1, 2, 3, 5, 7, 13, 31, 61, 127, 251, 1100}};

KLAB_LAB({
    .title = "Mixed precision: fewer bits, where they pay",
    .question = "How many bits does a number need, and what does each bit less bring?",
    .ops =
        {{.op = make_op<Cast>(),
          .bench =
              {{.name = "4 M to bf16", .shape = {1 << 22, Cast::bf16}, .cache = Cache::cold, .tour = true},
               {.name = "4 M to f16", .shape = {1 << 22, Cast::f16}, .cache = Cache::cold},
               {.name = "4 M to e4m3", .shape = {1 << 22, Cast::e4m3}, .cache = Cache::cold},
               {.name = "64 K to bf16, in L2", .shape = {1 << 16, Cast::bf16}, .cache = Cache::hot}},
          .check = {kElements[0], {Cast::f16, Cast::bf16, Cast::e4m3, Cast::e5m2, Cast::int8}},
          .counted = {4099, Cast::bf16},
          .traffic = Traffic::copy,
          .nan_in = {"x"},
          .infinity_in = {"x"},
          .parameters = {"format"}},
         {.op = make_op<RoundNarrow>(),
          .bench = {{.name = "4 M to f16", .shape = {1 << 22, Cast::f16}, .cache = Cache::cold, .tour = true},
                    {.name = "64 K to f16, in L2", .shape = {1 << 16, Cast::f16}, .cache = Cache::hot}},
          .check = {kElements[0], {Cast::f16, Cast::bf16, Cast::e4m3, Cast::e5m2}},
          .counted = {4099, Cast::f16},
          .traffic = Traffic::update,
          .nan_in = {"x"},
          .infinity_in = {"x"},
          .parameters = {"format"}},
         {.op = make_op<MatmulBf16>(),
          .bench = kProducts,
          .check = kProductSizes,
          .counted = {131, 70, 37},
          .traffic = Traffic::copy,
          .beyond = kProductBeyond,
          .nan_in = {"a", "b"},
          .infinity_in = {"a", "b"}},
         {.op = make_op<MatmulInt8>(),
          .bench = kProducts,
          .check = kByteProductSizes,
          .counted = {131, 70, 37},
          .traffic = Traffic::copy,
          .beyond = kProductBeyond},
         {.op = make_op<MatmulFp8>(),
          .bench = kProducts,
          .check = kProductSizes,
          .counted = {131, 70, 37},
          .traffic = Traffic::copy,
          .beyond = kProductBeyond},
         {.op = make_op<MatmulInt8Tn>(),
          .bench = kStoredTn,
          .check = kByteProductSizes,
          .counted = {131, 70, 37},
          .traffic = Traffic::copy,
          .beyond = kProductBeyond},
         {.op = make_op<MatmulFp8Tn>(),
          .bench = kStoredTn,
          .check = kProductSizes,
          .counted = {131, 70, 37},
          .traffic = Traffic::copy,
          .beyond = kProductBeyond},
         {.op = make_op<MatvecInt4>(),
          .bench = {{.name = "4096x4096", .shape = {4096, 128}, .cache = Cache::cold, .tour = true},
                    {.name = "1024x1024, in L2", .shape = {1024, 32}, .cache = Cache::hot}},
          .check = {{0, 1, 2, 3, 5, 8, 17, 64, 100, 257}, {0, 1, 2, 3, 5, 7, 8, 9, 16, 33, 65}},
          .counted = {37, 19},
          .traffic = Traffic::read},
         {.op = make_op<AdamwMaster>(),
          .bench = {{.name = "4 M parameters", .shape = {1 << 22}, .cache = Cache::cold, .tour = true},
                    {.name = "32 K parameters, in L2", .shape = {1 << 15}, .cache = Cache::hot}},
          .check = kElements,
          .counted = {4099},
          .traffic = Traffic::update}},
});

}  // namespace
}  // namespace klab
