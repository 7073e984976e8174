// Recorded pools of trainings: files that are read back, and damage that is named.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "harness/cli/quality_pool.h"
#include "tests/core/temp_folder.h"

namespace klab {
namespace {

QualityPool some_pool() {
  QualityPool pool{
      .machine = "m", .commit = "c", .task = {.scene = "scene", .steps = 40, .reach = 25}, .runs = {}};
  pool.task.changes = {"log2_table=11"};
  pool.runs = {{.seed = 1, .psnr = 30.25, .reached = 12, .validated = "2 views of 8x8"},
               {.seed = 7,
                .psnr = 29.5,
                .reached = std::numeric_limits<double>::infinity(),
                .validated = "2 views of 8x8"}};
  return pool;
}

class PoolFile : public testing::Test {
 protected:
  /// Returns the error of reading the file after a change of its text.
  std::string error_after(const std::string& from, const std::string& to) const {
    write_pool(file, some_pool());
    std::ifstream in(file);
    std::ostringstream all;
    all << in.rdbuf();
    std::string text = all.str();
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    std::ofstream(file) << text.replace(at, from.size(), to);
    try {
      read_pool(file);
    } catch (const std::runtime_error& e) {
      EXPECT_NE(std::string(e.what()).find(file), std::string::npos) << e.what();
      return e.what();
    }
    return "";
  }
  TempFolder folder;
  std::string file = (folder.path() / "pool.json").string();
};

TEST_F(PoolFile, ReadsBackWhatWasWritten) {
  write_pool(file, some_pool());
  const QualityPool back = read_pool(file);
  EXPECT_EQ(back.task.scene, "scene");
  EXPECT_EQ(back.task.changes, some_pool().task.changes);
  ASSERT_EQ(back.runs.size(), 2U);
  EXPECT_EQ(back.runs[0].psnr, 30.25);
  EXPECT_EQ(back.runs[0].reached, 12);
  EXPECT_TRUE(std::isinf(back.runs[1].reached));
  EXPECT_EQ(why_not_comparable(back, some_pool()), "");
}

TEST_F(PoolFile, NamesWhatIsDamaged) {
  const auto says = [&](const std::string& from, const std::string& to, const std::string& part) {
    const std::string error = error_after(from, to);
    EXPECT_NE(error.find(part), std::string::npos) << error;
  };
  says("\"quality\"", "\"bench\"", "is no pool of trainings");
  says("\"seed\": 7", "\"seed\": 1", "two trainings with seed 1");
  says("30.25", "null", "\"psnr\"");
  says("30.25", "1e300", "\"psnr\"");
  says("\"runs\"", "\"walks\"", "no list \"runs\"");
  says("\"field\"", "\"fields\"", "no text \"field\"");
  says("\"reached\": 12.0", "\"arrived\": 12.0", "the training with seed 1 has no \"reached\"");
  says("{", "", "");
}

TEST_F(PoolFile, PoolsOfOtherTrainingsAreNotCompared) {
  const auto why = [&](auto&& change) {
    QualityPool other = some_pool();
    change(other);
    return why_not_comparable(some_pool(), other);
  };
  EXPECT_EQ(why([](QualityPool& p) { p.task.steps = 50; }), "steps: 40 and 50");
  EXPECT_EQ(why([](QualityPool& p) { p.task.scene = "other"; }), "scene: \"scene\" and \"other\"");
  EXPECT_EQ(why([](QualityPool& p) { p.task.changes = {}; }), "") << "a setting may be what is tried";
  EXPECT_EQ(why([](QualityPool& p) { p.machine = "other"; }), "") << "steps are the same everywhere";
  EXPECT_NE(why([](QualityPool& p) {
              p.runs[1].validated = "3 views of 8x8";
            }).find("validation: on 2 views of 8x8 with seed 1, and on 3 views of 8x8 with seed 7"),
            std::string::npos);
  QualityPool timed = some_pool(), elsewhere = timed;
  timed.task.steps = elsewhere.task.steps = 0;
  timed.task.seconds = elsewhere.task.seconds = 3;
  elsewhere.machine = "other";
  EXPECT_EQ(why_not_comparable(timed, elsewhere), "machine: m and other, and the length is in seconds");
}

}  // namespace
}  // namespace klab
