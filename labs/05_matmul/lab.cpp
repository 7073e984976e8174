// Lab 05: sizes at which matmul and its backward are checked and timed.
#include "harness/core/lab.h"
#include "reference/matmul/matmul.h"
#include "reference/matmul_bwd/matmul_bwd.h"

namespace klab {
namespace {

// Shapes are m, n, k: C[m,n] = A[m,k]·B[k,n].
KLAB_LAB({
    .title = "Matrix product: the memory hierarchy",
    .question = "How does a loop nest with three lines come close to the arithmetic peak of the machine?",
    .ops = {{
                .op = make_op<Matmul>(),
                .bench = {{.name = "256 cubed", .shape = {256, 256, 256}},
                          {.name = "512 cubed", .shape = {512, 512, 512}, .tour = true},
                          {.name = "1000 cubed", .shape = {1000, 1000, 1000}},
                          {.name = "1024 cubed", .shape = {1024, 1024, 1024}},
                          {.name = "2048 cubed", .shape = {2048, 2048, 2048}},
                          {.name = "512x384x1000", .shape = {512, 384, 1000}},
                          {.name = "skinny, 8 rows", .shape = {8, 2048, 2048}}},
                .check = {{0, 1, 2, 3, 5, 7, 13, 31, 61, 127, 251, 509}},
                .counted = {131, 70, 37},
                .traffic = Traffic::copy,
                .nan_in = {"a", "b"},
                .infinity_in = {"a", "b"},
            },
            {
                .op = make_op<MatmulBwd>(),
                .bench = {{.name = "256 cubed", .shape = {256, 256, 256}},
                          {.name = "512 cubed", .shape = {512, 512, 512}, .tour = true},
                          {.name = "1024 cubed", .shape = {1024, 1024, 1024}},
                          {.name = "512x384x1000", .shape = {512, 384, 1000}}},
                .check = {{0, 1, 2, 3, 5, 7, 13, 31, 61, 127, 251, 509}},
                .counted = {131, 70, 37},
                .traffic = Traffic::copy,
                .nan_in = {"a", "b", "d_c"},
                .infinity_in = {"a", "b", "d_c"},
            }},
});

}  // namespace
}  // namespace klab
