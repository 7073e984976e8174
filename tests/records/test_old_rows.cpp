// Rows that an earlier version of klab wrote: with fewer columns, and under names that rungs had then.
// ctest: sanitized-ops
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "harness/core/registry.h"
#include "harness/records/rows.h"
#include "tests/core/temp_folder.h"

namespace klab {
namespace {

namespace fs = std::filesystem;
using Cells = std::vector<std::vector<std::string>>;

class OldRows : public testing::Test {
 protected:
  std::string put(const std::string& text) const {
    const std::string file = (folder_ / "r.csv").string();
    std::ofstream(file, std::ios::binary) << text;
    return file;
  }

  std::string error_of(const std::string& text) const {
    try {
      read_csv(put(text));
      return "";
    } catch (const RowsError& e) {
      return e.what();
    }
  }

  const TempFolder own_;
  const fs::path folder_ = own_.path();
};

/// Header and two rows without commas in their cells.
Cells whole_cells() {
  Recording run;
  for (const char* id : {"matmul.cpu.01_naive", "matmul.cpu.02_loop_order"}) {
    Row r{.fingerprint = "0123",
          .lab = "05_matmul",
          .op = "matmul",
          .variant = id,
          .backend = "cpu",
          .size = "8 cubed",
          .shape = "m=8 n=8 k=8",
          .cache = "hot",
          .threads = 2,
          .bytes = 768,
          .flops = 1024};
    r.seconds = {3e-6, 2e-6, 4e-6};
    r.time = median_interval(r.seconds);
    r.over_peer = median_interval(std::vector<double>{0.5, 0.6, 0.7});
    run.rows.push_back(r);
  }
  Cells cells;
  std::istringstream lines(to_csv(run));
  for (std::string line; std::getline(lines, line);) {
    cells.emplace_back(1);
    for (const char c : line)
      if (c == ',')
        cells.back().emplace_back();
      else
        cells.back().back() += c;
  }
  return cells;
}

std::string lines_of(const Cells& cells) {
  std::string text;
  for (const auto& line : cells) {
    for (size_t i = 0; i < line.size(); ++i) text += (i > 0 ? "," : "") + line[i];
    text += "\n";
  }
  return text;
}

size_t column_named(const Cells& cells, const std::string& name) {
  const auto at = std::ranges::find(cells[0], name);
  if (at == cells[0].end()) ADD_FAILURE() << "no column " << name;
  return size_t(at - cells[0].begin());
}

void expect_named(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST_F(OldRows, LoadWithAllColumns) { EXPECT_EQ(error_of(lines_of(whole_cells())), ""); }

/// Files of earlier versions: later columns are left empty, or follow from the others.
TEST_F(OldRows, ColumnsOfLaterVersionsMayBeMissing) {
  auto cells = whole_cells();
  for (const char* name : {"core_to_core_ns", "waited", "others", "shares", "needs", "counts", "worst_error",
                           "lab", "backend", "over_peer_low"}) {
    const size_t c = column_named(cells, name);
    for (auto& line : cells) line.erase(line.begin() + std::ptrdiff_t(c));
  }
  const Recording run = read_csv(put(lines_of(cells)));
  ASSERT_FALSE(run.rows.empty());
  for (const Row& r : run.rows) {
    EXPECT_EQ(r.lab, "05_matmul");
    EXPECT_EQ(r.backend, "cpu");
    EXPECT_TRUE(r.counts.empty());
    EXPECT_FALSE(r.over_peer.has_value());  // without its interval
  }
  // The error for a cut file still tells where.
  cells.back().resize(10);
  expect_named(error_of(lines_of(cells)), fmt::format("column '{}' is missing", cells[0][10]));
}

TEST_F(OldRows, ARenamedColumnIsReadUnderItsFormerName) {
  auto cells = whole_cells();
  const size_t c = column_named(cells, "core_to_core_ns"), seconds = column_named(cells, "seconds");
  cells[0][c] = "line_ns";
  for (size_t i = 1; i < cells.size(); ++i) cells[i][c] = "90;91;92";
  ASSERT_NE(cells[1][seconds], "");
  EXPECT_EQ(read_csv(put(lines_of(cells))).rows[0].core_to_core_ns, (std::vector<double>{90, 91, 92}));
}

TEST_F(OldRows, MapFormerNamesToPresentOnes) {
  const auto renamed = std::ranges::find_if(variants(), [](const Variant& v) { return !v.was.empty(); });
  ASSERT_NE(renamed, variants().end());
  auto cells = whole_cells();
  const size_t c = column_named(cells, "variant");
  cells[1][c] = renamed->was.back();
  EXPECT_EQ(read_csv(put(lines_of(cells))).rows[0].variant, renamed->id);
  // A rung that became part of another: the file's row under the latest name counts.
  cells[2][c] = renamed->id;
  const Recording both = read_csv(put(lines_of(cells)));
  EXPECT_EQ(both.rows.size(), cells.size() - 2);
  EXPECT_EQ(both.rows[0].variant, renamed->id);
}

TEST_F(OldRows, NameAMissingColumnAndTheCommandThatRecordsIt) {
  auto cells = whole_cells();
  const size_t c = column_named(cells, "seconds_median");
  for (auto& line : cells) line.erase(line.begin() + std::ptrdiff_t(c));
  expect_named(error_of(lines_of(cells)),
               ":1: column 'seconds_median' is missing from the header; record the rows again: "
               "klab bench WHAT --out ");
  // A baseline is recorded under its name.
  const fs::path machine = folder_ / "recorded" / "0123";
  fs::create_directories(machine);
  std::ofstream((machine / "main.csv").string()) << lines_of(cells);
  try {
    read_csv((machine / "main.csv").string());
    ADD_FAILURE() << "it was read";
  } catch (const RowsError& e) {
    expect_named(e.what(), "klab bench WHAT --baseline main");
  }
}

}  // namespace
}  // namespace klab
