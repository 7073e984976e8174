// Rows: files round-trip, and every way a file can be broken is an error that tells where.
// ctest: sanitized
#include "harness/records/rows.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/records/rows_fixture.h"

namespace klab {
namespace {

TEST_F(Rows, RoundTrip) {
  const Recording run = sample_run();
  write_run(file("a.csv"), run, this_machine(), {});
  const Recording back = read_csv(file("a.csv"));
  EXPECT_TRUE(back.complete);
  ASSERT_EQ(back.rows.size(), run.rows.size());
  for (size_t i = 0; i < run.rows.size(); ++i) EXPECT_TRUE(back.rows[i] == run.rows[i]) << "row " << i;
  EXPECT_EQ(to_csv(back), to_csv(run));
}

TEST_F(Rows, RoundTripOfASingleRound) {
  Recording run;
  Row r = timed_row("matmul.cpu.01_naive", 1);
  r.seconds.resize(1);
  r.time = median_interval(r.seconds);
  run.rows.push_back(r);
  const Recording back = read_csv(put(to_csv(run)));
  EXPECT_TRUE(back.rows[0] == r);
}

TEST_F(Rows, PlainCellsAreAccepted) { EXPECT_EQ(error_of(text_of(plain_cells())), ""); }

TEST_F(Rows, WindowsLineEndsAreAccepted) {
  std::string text;
  for (const char c : text_of(plain_cells())) text += c == '\n' ? std::string("\r\n") : std::string(1, c);
  EXPECT_EQ(error_of(text), "");
}

TEST_F(Rows, MissingFile) {
  try {
    read_csv(file("none.csv"));
    FAIL();
  } catch (const RowsError& e) {
    EXPECT_HAS(std::string(e.what()), "none.csv");
    EXPECT_HAS(std::string(e.what()), "no such file");
  }
}

TEST_F(Rows, Empty) { EXPECT_HAS(error_of(""), "is empty"); }

TEST_F(Rows, HeaderOnly) {
  auto cells = plain_cells();
  cells.resize(1);
  EXPECT_HAS(error_of(text_of(cells)), "holds a header and no rows");
}

TEST_F(Rows, NotCsvAtAll) { EXPECT_HAS(error_of("<html>\n<body>\n"), ":1: column '<html>' is none"); }

TEST_F(Rows, MissingColumn) {
  auto cells = plain_cells();
  const size_t c = column(cells, "threads");
  for (auto& line : cells) line.erase(line.begin() + std::ptrdiff_t(c));
  EXPECT_HAS(error_of(text_of(cells)), ":1: column 'threads' is missing from the header");
}

TEST_F(Rows, UnknownColumn) {
  auto cells = plain_cells();
  for (auto& line : cells) line.emplace_back("surprise");
  EXPECT_HAS(error_of(text_of(cells)), ":1: column 'surprise'");
}

TEST_F(Rows, ColumnTwice) {
  auto cells = plain_cells();
  cells[0][column(cells, "bytes")] = "flops";
  EXPECT_HAS(error_of(text_of(cells)), ":1: column 'flops' is in the header twice");
}

TEST_F(Rows, ColumnsInAnotherOrderAreAccepted) {
  auto cells = plain_cells();
  for (auto& line : cells) std::swap(line[3], line[7]);
  EXPECT_EQ(error_of(text_of(cells)), "");
}

TEST_F(Rows, RaggedShortNamesTheFirstMissingColumn) {
  auto cells = plain_cells();
  const size_t c = column(cells, "flops");
  cells[2].resize(c);
  EXPECT_HAS(error_of(text_of(cells)), ":3: column 'flops' is missing");
}

TEST_F(Rows, RaggedLong) {
  auto cells = plain_cells();
  cells[1].emplace_back("more");
  EXPECT_HAS(error_of(text_of(cells)), ":2: column 'seconds' is the last of");
}

TEST_F(Rows, EmptyLineInTheMiddle) {
  auto cells = plain_cells();
  cells.insert(cells.begin() + 2, std::vector<std::string>{""});
  EXPECT_HAS(error_of(text_of(cells)), ":3: column");
}

// Every byte of the last row, where a cut is hardest to see, and every seventh before.
TEST_F(Rows, CutAtAnyByte) {
  for (const std::string& whole : {to_csv(sample_run()), text_of(plain_cells())})
    for (size_t length = 0; length < whole.size(); length += length + 400 < whole.size() ? 7 : 1)
      EXPECT_NE(error_of(whole.substr(0, length)), "")
          << "cut after " << length << " of " << whole.size() << " bytes";
}

TEST_F(Rows, LostWholeLines) {
  auto cells = plain_cells();
  cells.pop_back();
  EXPECT_HAS(error_of(text_of(cells)), "announces 2 rows, but the file ends after 1");
  cells = plain_cells();
  cells.erase(cells.begin() + 1);
  EXPECT_HAS(error_of(text_of(cells)), ":2: column 'row' is 2, but this is row 1");
}

TEST_F(Rows, DuplicatedRow) {
  auto cells = plain_cells();
  const size_t variant = column(cells, "variant");
  cells[2][variant] = cells[1][variant];
  EXPECT_HAS(error_of(text_of(cells)), ":3: column 'variant' repeats line 2");
}

TEST_F(Rows, AcceptsAnInterruptedRunOnlyWhenAllowed) {
  Recording run = sample_run();
  run.complete = false;
  EXPECT_HAS(error_of(to_csv(run)), ":2: column 'run' says that the run was interrupted");
  const Recording back = read_csv(put(to_csv(run)), true);
  EXPECT_FALSE(back.complete);
  EXPECT_EQ(back.rows.size(), run.rows.size());
}

struct BadCell {
  const char* column;
  const char* text;
  const char* says;
};
void PrintTo(const BadCell& b, std::ostream* out) { *out << b.column << " = '" << b.text << "'"; }

class WrongCell : public Rows, public testing::WithParamInterface<BadCell> {};

TEST_P(WrongCell, NamesLineAndColumn) {
  auto cells = plain_cells();
  const BadCell& bad = GetParam();
  cells[2][column(cells, bad.column)] = bad.text;
  const std::string error = error_of(text_of(cells));
  EXPECT_HAS(error, std::string(":3: column '") + bad.column + "'");
  EXPECT_HAS(error, bad.says);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, WrongCell,
    testing::Values(
        BadCell{"threads", "two", "not a whole number"}, BadCell{"threads", "2.5", "not a whole number"},
        BadCell{"threads", "0", "less than 1"}, BadCell{"threads", "", "not a whole number"},
        BadCell{"threads", "99999999999", "not a whole number"}, BadCell{"bytes", "many", "not a number"},
        BadCell{"bytes", "-1", "negative"}, BadCell{"flops", "nan", "not a finite number"},
        BadCell{"flops", "1e999", "not a number"}, BadCell{"iterations", "-3", "negative"},
        BadCell{"seconds_median", "nan", "not a finite number"},
        BadCell{"seconds_median", "-1e-3", "not greater than zero"},
        BadCell{"seconds_median", "0", "not greater than zero"}, BadCell{"seconds_median", "", "is empty"},
        BadCell{"seconds_median", "1e-3 s", "not a number"},
        BadCell{"seconds_median", "1", "outside of its interval"},
        BadCell{"seconds_low", "inf", "not a finite"}, BadCell{"seconds", "", "is empty"},
        BadCell{"seconds", "1;2;x", "'x' is not a number"},
        BadCell{"seconds", "1;2;3;4;5;6;-7", "not greater than zero"},
        BadCell{"seconds", "1;2;3;4;5;6;nan", "not a finite number"},
        BadCell{"seconds", "1;2;3;4;5;6;7;", "a number is missing"},
        BadCell{"seconds", "1;2;3", "holds 3 times, but 'rounds' says 7"},
        BadCell{"seconds", "1;;3", "not a number"}, BadCell{"rounds", "-7", "negative"},
        BadCell{"row", "7", "but this is row 2"}, BadCell{"rows", "9", "where the first row says 2"},
        BadCell{"run", "finished", "neither"}, BadCell{"variant", "", "is empty"},
        BadCell{"over_naive", "fast", "not a number"}, BadCell{"resources", "copy L2", "not CEILING=SECONDS"},
        BadCell{"resources", "copy L2=0", "not greater than zero"},
        BadCell{"expected", "-2", "not greater than zero"}));

TEST_F(Rows, RejectsAMedianOfOtherTimes) {
  auto cells = plain_cells();
  cells[2][column(cells, "seconds")] = "1;2;3;4;5;6;7";
  EXPECT_HAS(error_of(text_of(cells)), ":3: column 'seconds_median'");
}

TEST_F(Rows, RejectsASkippedRowWithTimes) {
  auto cells = plain_cells();
  cells[1][column(cells, "skipped")] = "no reason";
  EXPECT_HAS(error_of(text_of(cells)), ":2: column 'seconds' holds times, though the row was skipped");
}

TEST_F(Rows, UnclosedQuote) {
  auto cells = plain_cells();
  cells[2][column(cells, "size")] = "\"1024 cubed";
  EXPECT_HAS(error_of(text_of(cells)), ":3:");
}

TEST_F(Rows, WritingReplacesTheWholeFileAndLeavesNothingElse) {
  write_run(file("a.csv"), sample_run(), this_machine(), {});
  Recording one = sample_run();
  one.rows.resize(1);
  write_run(file("a.csv"), one, this_machine(), {});
  EXPECT_EQ(read_csv(file("a.csv")).rows.size(), 1U);
  int files = 0;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    ++files;
    EXPECT_EQ(entry.path().filename(), "a.csv");
  }
  EXPECT_EQ(files, 1);
}

TEST_F(Rows, WritingThroughALinkKeepsTheLink) {
  write_run(file("a.csv"), sample_run(), this_machine(), {});
  fs::create_symlink("a.csv", file("link.csv"));
  write_run(file("link.csv"), sample_run(), this_machine(), {});
  EXPECT_TRUE(fs::is_symlink(file("link.csv")));
  EXPECT_FALSE(fs::is_symlink(file("a.csv")));
}

TEST_F(Rows, UnwritablePaths) {
  const auto refusal = [](const std::string& path) -> std::string {
    try {
      require_writable(path);
      return "";
    } catch (const RowsError& e) {
      return e.what();
    }
  };
  EXPECT_EQ(refusal(file("new.csv")), "");
  EXPECT_FALSE(fs::exists(file("new.csv"))) << "asking must not create it";
  EXPECT_HAS(refusal(file("a.txt")), "must end in .csv or .json");
  EXPECT_HAS(refusal(file("a")), "must end in .csv or .json");
  EXPECT_HAS(refusal(file("none/a.csv")), "No such file or directory");
  fs::create_directory(file("dir.csv"));
  EXPECT_HAS(refusal(file("dir.csv")), "not a regular file");
  mkfifo(file("pipe.csv").c_str(), 0600);
  EXPECT_HAS(refusal(file("pipe.csv")), "not a regular file");
  std::ofstream(file("file")) << "x";
  EXPECT_HAS(refusal(file("file/a.csv")), "Not a directory");
  if (geteuid() != 0) {
    fs::create_directory(file("closed"));
    fs::permissions(file("closed"), fs::perms::owner_read | fs::perms::owner_exec);
    EXPECT_HAS(refusal(file("closed/a.csv")), "Permission denied");
  }
}

TEST_F(Rows, KeepsTheBindingResource) {
  Recording run = sample_run();
  run.rows[1].ceiling = "transcendental f32";
  run.rows[1].resources = {{"transcendental f32", 1.0 / 3}, {"copy 2:1 L3", 1e-7}};
  run.rows[1].error.clear();
  const Recording back = read_csv(put(to_csv(run)));
  EXPECT_EQ(back.rows, run.rows);
  Ceilings ceilings;
  ceilings.list.push_back({.kind = CeilingKind::transcendental, .threads = 2, .per_second = 1e10});
  const auto j = to_json(run, this_machine(), ceilings);
  EXPECT_EQ(j["rows"][1]["ceiling"], "transcendental f32");
  EXPECT_EQ(j["ceilings"]["measured"][0]["name"], "transcendental f32");
  EXPECT_EQ(j["ceilings"]["measured"][0]["unit"], "values/s");
}

TEST_F(Rows, JsonHoldsMachineCeilingsAndRows) {
  Ceilings ceilings;
  ceilings.list.push_back({.kind = CeilingKind::copy, .level = 4, .threads = 2, .per_second = 5e10});
  Recording run = sample_run();
  run.complete = false;
  write_run(file("a.json"), run, this_machine(), ceilings);
  std::ifstream in(file("a.json"));
  const auto j = nlohmann::json::parse(in);
  EXPECT_EQ(j["run"], "interrupted");
  EXPECT_EQ(j["machine"]["fingerprint"], fingerprint(this_machine()));
  EXPECT_EQ(j["ceilings"]["measured"][0]["name"], "copy memory");
  ASSERT_EQ(j["rows"].size(), 4U);
  EXPECT_EQ(j["rows"][1]["seconds"], nlohmann::json(run.rows[1].seconds));
  EXPECT_EQ(j["rows"][1]["over_naive"]["value"], run.rows[1].over_naive->value);
  EXPECT_TRUE(j["rows"][0]["over_naive"].is_null());
  EXPECT_EQ(j["rows"][2]["skipped"], "needs a multiple of 16, not 1024");
  EXPECT_FALSE(j["rows"][2].contains("time"));
}

}  // namespace
}  // namespace klab
