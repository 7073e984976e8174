// The tour in parts: rows of finished labs are kept in a folder and joined into one recording.
#include "harness/cli/tour_parts.h"
#include "tests/core/temp_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace klab {
namespace {

namespace fs = std::filesystem;

class Parts : public testing::Test {
 protected:
  void SetUp() override { std::ofstream(folder_ / "labs") << "01_first\n02_second\n"; }

  /// Compares the fields that this test gives; a row that was read has its machine's as well.
  static void expect_row_of(const std::string& lab, const Row& r) {
    const Row given = row(lab);
    EXPECT_EQ(r.lab, given.lab);
    EXPECT_EQ(r.op, given.op);
    EXPECT_EQ(r.variant, given.variant);
    EXPECT_EQ(r.shape, given.shape);
    EXPECT_EQ(r.skipped, given.skipped);
  }

  static Row row(const std::string& lab) {
    Row r;
    r.fingerprint = "0123456789abcdef";
    r.lab = lab;
    r.op = "op_of_" + lab;
    r.variant = r.op + ".cpu.01_naive";
    r.backend = "cpu";
    r.shape = "n=1";
    r.threads = 1;
    r.skipped = "a reason";
    return r;
  }

  const TempFolder own_;
  const fs::path folder_ = own_.path();
};

TEST_F(Parts, RefusesFolderWithoutListOfLabs) {
  fs::remove(folder_ / "labs");
  try {
    const TourParts parts(folder_);
    FAIL() << "accepted";
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find(folder_.string()), std::string::npos) << e.what();
  }
}

TEST_F(Parts, JoinsRowsInTheOrderOfTheTour) {
  const TourParts parts(folder_);
  parts.keep("02_second", {row("02_second")}, false);
  EXPECT_TRUE(parts.is_open("01_first"));
  EXPECT_FALSE(parts.is_open("02_second"));
  EXPECT_FALSE(parts.is_open("03_unlisted"));
  EXPECT_FALSE(parts.joined({}).complete);
  parts.keep("01_first", {row("01_first")}, false);
  const Recording all = TourParts(folder_).joined({});
  EXPECT_TRUE(all.complete);
  ASSERT_EQ(all.rows.size(), 2U);
  expect_row_of("01_first", all.rows[0]);
  expect_row_of("02_second", all.rows[1]);
}

TEST_F(Parts, AppendsRowsOfTheInterruptedLab) {
  const TourParts parts(folder_);
  parts.keep("01_first", {row("01_first")}, false);
  const Recording all = parts.joined({row("02_second")});
  EXPECT_FALSE(all.complete);
  ASSERT_EQ(all.rows.size(), 2U);
  EXPECT_EQ(all.rows[1].lab, "02_second");
}

TEST_F(Parts, KeepsLabWithoutRows) {
  const TourParts parts(folder_);
  parts.keep("01_first", {row("01_first")}, false);
  parts.keep("01_first", {}, true);
  EXPECT_FALSE(parts.is_open("01_first"));
  EXPECT_TRUE(parts.joined({}).rows.empty());
}

TEST_F(Parts, RemembersAWrongLab) {
  const TourParts parts(folder_);
  parts.keep("02_second", {}, false);
  EXPECT_FALSE(parts.wrong());
  parts.keep("01_first", {}, true);
  EXPECT_TRUE(TourParts(folder_).wrong());
}

}  // namespace
}  // namespace klab
