// A check of a CUDA rung says in which lines there are branches that no watched run has entered.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "harness/check/check.h"
#include "harness/core/registry.h"
#include "harness/core/source.h"
#include "harness/simt/entered.h"

namespace klab {
namespace {

constexpr const char* kRung = "reduce.cuda.04_sixteen_bytes";

/// The number of the first line that contains the text.
int line_with(const std::string& file, const std::string& text) {
  std::istringstream in(read_text(file));
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.find(text) != std::string::npos) return number;
  }
  return 0;
}

CheckResult unwatched_at(std::vector<int64_t> shape) {
  const Variant* v = find_variant(kRung);
  return check(*find_op("reduce"), {&v, 1}, {.shape = std::move(shape), .done = {}}).variants.front();
}

/// One test, since what has been entered stays so for the process.
TEST(UnwatchedLines, AreNamedUntilARunEntersThem) {
  const Variant* v = find_variant(kRung);
  ASSERT_NE(v, nullptr);
  const int several_blocks = line_with(v->file, "own += sums[k];"),
            small = line_with(v->file, "own += x[i];");
  ASSERT_GT(several_blocks, 0);
  ASSERT_GT(small, 0);
  EXPECT_TRUE(simt::lines_not_entered(v->file).empty()) << "before any run";

  const CheckResult one_block = unwatched_at({5});
  EXPECT_TRUE(one_block.failures.empty());
  const std::vector<int> missed = simt::lines_not_entered(v->file);
  ASSERT_TRUE(std::ranges::count(missed, several_blocks)) << one_block.note;
  EXPECT_FALSE(std::ranges::count(missed, small)) << one_block.note;
  EXPECT_NE(one_block.note.find("no watched run entered a branch in line "), std::string::npos)
      << one_block.note;
  EXPECT_NE(one_block.note.find("line " + std::to_string(missed.front())), std::string::npos)
      << one_block.note;

  unwatched_at({40'000});
  EXPECT_FALSE(std::ranges::count(simt::lines_not_entered(v->file), several_blocks));
}

}  // namespace
}  // namespace klab
