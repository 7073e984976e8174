// More planted mistakes than the ten of test_first_sentences.cpp: each first sentence names what makes its cases fail.
// ctest: long
#include <gtest/gtest.h>

#include "tests/check/first_sentence.h"

namespace klab {
namespace {

TEST(MoreSentences, MistakesAreDescribed) {
  load_cuda_mutants(KLAB_CUDA_MUTANTS, KLAB_CUDA_MUTANTS_TRACED);
  for (const Planted& planted : std::vector<Planted>{
           {"matmul.cpu.70_tile_edge", "n mod 16 > 0", "elements without an owner"},
           {"matmul.cpu.71_second_block", "k > 256"},
           {"matmul.cpu.50_looks_at_a_only", "pointers off alignment"},
           {"transpose.cpu.70_edge", "m < n", "elements without an owner"},
           {"transpose.cpu.71_rounds", "fail"},
           {"transpose.cpu.50_sixteen_of_out", "pointers off alignment"},
           {"vector_add.cpu.50_on_sixteen", "pointers off alignment"},
           {"vector_add.cpu.70_one_pointer", "pointers off alignment"},
           {"vector_add.cpu.52_saturates", "inputs"},
           {"groupnorm_fwd.cpu.70_last_group", "groups > 1", "elements without an owner"},
           {"groupnorm_bwd.cpu.70_last_example", "n > 1"},
           {"bias_add_bwd.cpu.70_mean", "n > 1"},
           {"conv2d_fwd.cpu.70_dilation_ignored", "dilation_x"},
           {"pool_fwd.cpu.70_padding_counted", "kind=1"},
           {"dropout_fwd.cpu.71_kept_with_p", "fail"},
           {"probe_matmul.cpu.10_wrong_sign", "fail"},
           {"probe_matmul.cpu.11_dropped_term", "k > 8"},
           {"probe_matmul.cpu.29_second_block", "k > 64"},
           {"probe_matmul.cpu.35_assumes_alignment", "pointers off alignment"},
           {"probe_matmul.cpu.38_scaled", "fail"},
           {"transpose.cuda.81_barrier_in_branch", "n mod 32 > 0", "a barrier not all threads reach"},
           {"transpose.cuda.85_next_array", "n > 32", "a shared array that is too small"},
           {"transpose.cuda.87_wrong_guard", "fail", "read before written"},
           {"transpose.cuda.88_missing_wait", "fail", "missing wait"},
           {"vector_add.cuda.83_misaligned", "n > 4", "misaligned vector access"},
           {"vector_add.cuda.96_divides_by_zero", "n < 4099"},
       })
    expect_first_sentence(planted);
}

}  // namespace
}  // namespace klab
