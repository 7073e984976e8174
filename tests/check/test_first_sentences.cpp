// What a learner reads first about a mistake: the property that all failing cases have and passing ones have not.
#include <gtest/gtest.h>

#include "harness/check/in_common.h"
#include "tests/check/first_sentence.h"

namespace klab {
namespace {

/// Cases at all pairs of some sizes; `fails` decides.
template <class Fails>
std::string common_of(Fails fails) {
  std::vector<SurveyedCase> cases;
  for (const int64_t m : {1, 2, 3, 4, 7, 8, 15, 16, 17, 24, 31, 32, 40, 48, 63, 64, 100})
    for (const int64_t n : {1, 3, 8, 16, 33, 64})
      for (const Pattern pattern : {Pattern::random, Pattern::huge}) {
        SurveyedCase c{
            .shape = {m, n}, .pattern = pattern, .alignment = Alignment::whole, .threads = m % 3 + 1};
        c.failed = fails(c);
        cases.push_back(c);
      }
  return in_common({.names = {"m", "n"}, .parameter = {false, false}, .tiles = {}}, cases);
}

TEST(InCommon, FindsTheSimplestProperty) {
  const auto begins = [](const std::string& text, const std::string& with) {
    return text.find("failing cases have " + with + ", none of the ") != std::string::npos;
  };
  const auto m = [](const SurveyedCase& c) { return c.shape[0]; };
  const auto n = [](const SurveyedCase& c) { return c.shape[1]; };
  EXPECT_PRED2(begins, common_of([&](auto& c) { return n(c) == 33; }), "n=33");
  EXPECT_PRED2(begins, common_of([&](auto& c) { return m(c) > 32; }), "m > 32");
  EXPECT_PRED2(begins, common_of([&](auto& c) { return m(c) < 8; }), "m < 8");
  EXPECT_PRED2(begins, common_of([&](auto& c) { return m(c) % 16 == 8; }), "m mod 16 = 8");
  EXPECT_PRED2(begins, common_of([&](auto& c) { return m(c) % 16 != 0; }), "m mod 16 > 0");
  EXPECT_PRED2(begins, common_of([&](auto& c) { return m(c) % 2 != 0; }), "m odd");
  EXPECT_PRED2(begins, common_of([&](auto& c) { return m(c) != n(c); }), "m other than n");
  EXPECT_PRED2(begins, common_of([&](auto& c) { return c.pattern == Pattern::huge; }), "huge inputs");
  EXPECT_PRED2(begins, common_of([&](auto& c) { return c.threads == 2; }), "threads=2");
  EXPECT_PRED2(begins, common_of([&](auto& c) { return m(c) % 16 != 0 && n(c) > 16; }),
               "m mod 16 > 0 and n > 16");
  EXPECT_PRED2(begins, common_of([&](auto& c) { return m(c) % 16 != 0 || n(c) % 16 != 0; }),
               "m mod 16 > 0 or n mod 16 > 0");
}

TEST(InCommon, FindsRemaindersOfParametersThatAreNumbers) {
  std::vector<SurveyedCase> cases;
  for (const int64_t bits : {1, 8, 13, 16, 24, 31, 32, 45, 64})
    for (const int64_t n : {1, 7, 64, 300})
      for (int64_t twice = 0; twice < 2; ++twice)
        cases.push_back({.shape = {n, bits}, .failed = bits % 8 != 0});
  const std::string text =
      in_common({.names = {"n", "bits"}, .parameter = {false, true}, .tiles = {}}, cases);
  EXPECT_NE(text.find("have bits mod 8 > 0, none"), std::string::npos) << text;
}

TEST(InCommon, SaysWhatItDoesNotKnow) {
  EXPECT_EQ(common_of([](auto&) { return false; }), "");
  EXPECT_EQ(common_of([](auto&) { return true; }), "all 204 cases fail, whatever their sizes and inputs");
  uint64_t state = 1;
  EXPECT_EQ(common_of([&](auto&) { return (state = state * 6364136223846793005U + 1) >> 63 == 1; }), "");
  // One failing case has properties of its own by chance; so have a few that pass.
  EXPECT_EQ(
      common_of([](auto& c) { return c.shape[0] == 24 && c.shape[1] == 8 && c.pattern == Pattern::huge; }),
      "");
  EXPECT_EQ(common_of([](auto& c) { return c.shape[0] != 24 || c.shape[1] != 8; }),
            "all but 2 of 204 cases fail");
  // Exceptions are counted, and told.
  const std::string text =
      common_of([](auto& c) { return c.shape[0] > 32 && (c.shape[0] != 64 || c.shape[1] != 3); });
  EXPECT_NE(text.find("and so do 2 of the"), std::string::npos) << text;
}

TEST(FirstSentences, TenMistakesAreDescribed) {
  load_cuda_mutants(KLAB_CUDA_MUTANTS, KLAB_CUDA_MUTANTS_TRACED);
  for (const Planted& planted : std::vector<Planted>{
           {"vector_add.cpu.77_last_not_written", "n odd", "elements without an owner"},
           {"softmax_xent_fwd.cpu.76_null_pointer", "c=1"},
           {"softmax_xent_fwd.cpu.70_unsafe", "cancelling or huge or wide inputs", "an overflow"},
           {"transpose.cpu.74_divides_by_zero", "m < 8", "a division by zero"},
           {"probe_matmul.cpu.33_flushes_denormals", "denormal inputs", "denormals flushed"},
           {"probe_matmul.cpu.34_overflows", "huge inputs", "an overflow"},
           {"probe_matmul.cpu.24_past_end", "fail, whatever their sizes and inputs", "unguarded edge"},
           {"transpose.cuda.80_missing_barrier", "n > 1", "missing barrier"},
           {"transpose.cuda.86_dynamic_too_small", "n > 1", "a shared array that is too small"},
           {"vector_add.cuda.81_writes_past_end", "n mod 256 > 0", "unguarded edge"},
       })
    expect_first_sentence(planted);
}

}  // namespace
}  // namespace klab
