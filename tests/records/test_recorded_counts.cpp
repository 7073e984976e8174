// The gate: the counts of every CUDA rung match reports/recorded/counts. Also tests how a changed count is
// found and reported.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "harness/core/build_info.h"
#include "harness/core/select.h"
#include "harness/records/recorded_counts.h"
#include "tests/core/temp_folder.h"

namespace klab {
namespace {

TEST(RecordedCounts, EveryCudaRungMatchesTheRecord) {
  std::string other_compiler, text;
  int rungs = 0;
  for (const Selected& s : select({}, "cuda")) {
    const std::string& op = s.op->op.name;
    const auto recorded = read_counts(counts_file(KLAB_SOURCE_DIR, op), op);
    if (recorded && recorded->compiler != build_info().compiler) other_compiler = recorded->compiler;
    std::vector<RungCounts> now;
    for (const Variant* v : s.variants) now.push_back(count_rung(*s.op, *v));
    rungs += int(now.size());
    for (const CountChange& change : changes_of(recorded, now, true)) text += change.text() + "\n";
  }
  EXPECT_GT(rungs, 0);
  if (text.empty()) return;
  if (!other_compiler.empty())
    GTEST_SKIP() << "recorded with " << other_compiler << ", compiled by " << build_info().compiler << ":\n"
                 << text;
  ADD_FAILURE() << text << "Where that is wanted: ./klab counts --accept";
}

RungCounts two_lines() {
  const std::string file = "kernels/transpose/cuda/01_naive.cu";
  return {.variant = "transpose.cuda.01_naive",
          .shape = "m=2 n=2",
          .places = {{"all", 0, "", {{"calls", 1}, {"launches", 1}}},
                     {file, 18, "load 4 B", {{"requests", 4}, {"sectors", 16}}},
                     {file, 20, "load 4 B", {{"requests", 4}, {"sectors", 32}}}}};
}

TEST(RecordedCounts, ChangedCountsNameRungLineMetricAndBothNumbers) {
  RungCounts now = two_lines();
  now.places[2].counts["sectors"] = 64;
  const auto changes = changes_of(two_lines(), now);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].text(),
            "transpose.cuda.01_naive  kernels/transpose/cuda/01_naive.cu:20  load 4 B  sectors: 32 recorded, "
            "64 now");
}

TEST(RecordedCounts, IgnoresMovedLines) {
  RungCounts now = two_lines();
  for (PlaceCounts& p : now.places)
    if (p.line > 0) p.line += 7;
  EXPECT_TRUE(changes_of(two_lines(), now).empty());
}

TEST(RecordedCounts, ReportsOnlyTheExtraAccess) {
  RungCounts now = two_lines();
  now.places.insert(now.places.begin() + 1,
                    PlaceCounts{now.places[1].place, 17, "load 4 B", {{"requests", 9}}});
  const auto changes = changes_of(two_lines(), now);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].recorded, std::nullopt);
  EXPECT_EQ(changes[0].now, 9);
}

TEST(RecordedCounts, ReportsRungsWithoutCountsAndCountsWithoutRungs) {
  const OpCounts recorded{.compiler = "GNU", .rungs = {two_lines()}};
  RungCounts other = two_lines();
  other.variant = "transpose.cuda.99_new";
  EXPECT_EQ(changes_of(recorded, {two_lines(), other}, true).size(), 1U);
  EXPECT_EQ(changes_of(recorded, {}, true).size(), 1U);
  EXPECT_TRUE(changes_of(recorded, {}, false).empty());
  EXPECT_EQ(changes_of(std::nullopt, {other}, true).size(), 1U);
}

TEST(RecordedCounts, RoundTripsAndNamesABrokenFile) {
  const TempFolder folder;
  const auto file = folder / "transpose.csv";
  const auto write = [&](const std::string& text) { std::ofstream(file) << text; };
  const OpCounts counts{.compiler = "GNU 12.2.0", .rungs = {two_lines()}};
  write(counts_csv(counts));
  const auto back = read_counts(file, "transpose");
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->compiler, counts.compiler);
  EXPECT_EQ(back->rungs, counts.rungs);
  const std::string whole = counts_csv(counts);
  for (const std::string& broken :
       {std::string(), whole + "transpose.cuda.01_naive,m=2 n=2,all,,launches,many\n",
        whole + "matmul.cuda.01_naive,m=2,all,,launches,1\n", whole + "cut,off\n",
        whole + "transpose.cuda.01_naive,m=2 n=2,all,,launches,1\n"}) {
    write(broken);
    EXPECT_THROW(read_counts(file, "transpose"), RecordedCountsError) << broken;
  }
  std::filesystem::remove(file);
  EXPECT_FALSE(read_counts(file, "transpose").has_value());
}

}  // namespace
}  // namespace klab
