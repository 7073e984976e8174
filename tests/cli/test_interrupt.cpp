// SIGINT in the middle of a measurement: the rounds measured until then are written, marked as a part, and
// the exit code is the one that shells expect.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "harness/records/rows.h"
#include "tests/core/temp_folder.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

class Interrupt : public testing::Test {
 protected:
  /// Runs klab in the folder and interrupts it when the first line of a ladder is on its standard output.
  int interrupted_after_a_ladder(std::vector<std::string> arguments) {
    std::array<int, 2> out{};
    EXPECT_EQ(pipe(out.data()), 0);
    const pid_t child = fork();
    if (child == 0) {
      if (chdir(folder_.c_str()) != 0) _exit(126);
      dup2(out[1], STDOUT_FILENO);
      close(out[0]);
      arguments.insert(arguments.begin(), "klab");
      std::vector<char*> argv;
      for (std::string& a : arguments) argv.push_back(a.data());
      argv.push_back(nullptr);
      execv(KLAB_PROGRAM, argv.data());
      _exit(127);
    }
    close(out[1]);
    std::array<char, 4096> part{};
    bool sent = false;
    for (ssize_t n = 0; (n = read(out[0], part.data(), part.size())) > 0;) {
      said_.append(part.data(), size_t(n));
      if (sent || said_.find("\n  cpu.01") == std::string::npos) continue;
      kill(child, SIGINT);
      sent = true;
    }
    close(out[0]);
    EXPECT_TRUE(sent) << said_;
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  void expect_partial_rows(const fs::path& file) {
    ASSERT_TRUE(fs::exists(file));
    EXPECT_THROW(read_csv(file.string()), RowsError) << "a part passes for a whole";
    const Recording run = read_csv(file.string(), true);
    EXPECT_FALSE(run.complete);
    ASSERT_FALSE(run.rows.empty());
    // Not the first row: a call of a naive rung may be too slow to time on a busy machine.
    EXPECT_TRUE(std::ranges::any_of(run.rows, [](const Row& row) { return !row.seconds.empty(); }));
  }

  const TempFolder own_;
  const fs::path folder_ = own_.path();
  std::string said_;
};

TEST_F(Interrupt, BenchWritesWhatItHas) {
  EXPECT_EQ(interrupted_after_a_ladder({"bench", "vector_add", "--quick", "--out", "rows.csv"}), 130);
  expect_partial_rows(folder_ / "rows.csv");
}

TEST_F(Interrupt, RunWritesRowsAndReport) {
  EXPECT_EQ(interrupted_after_a_ladder({"run", "--out", "rows.csv"}), 130);
  expect_partial_rows(folder_ / "rows.csv");
  std::ifstream in(folder_ / "klab-report.html");
  std::stringstream report;
  report << in.rdbuf();
  EXPECT_NE(report.str().find("The run was interrupted"), std::string::npos);
}

// On a busy machine the signal may come only after a lab or two. Then these are finished, and no more is lost.
TEST_F(Interrupt, TourInPartsKeepsFinishedLabsOnly) {
  const std::vector<std::string> open = {"02_window_sum", "03_transpose", "04_softmax", "05_matmul"};
  std::ofstream labs(folder_ / "labs");
  labs << "01_vector_add\n";
  for (const std::string& lab : open) labs << lab << "\n";
  labs.close();
  std::ofstream(folder_ / "01_vector_add.done") << "right\n";
  EXPECT_EQ(interrupted_after_a_ladder({"run", "--parts", folder_.string(), "--out", "rows.csv"}), 130);
  EXPECT_EQ(said_.find("vector_add"), std::string::npos) << "a finished lab ran again: " << said_;
  EXPECT_FALSE(fs::exists(folder_ / (open.back() + ".done")));
  for (const std::string& lab : open)
    EXPECT_EQ(fs::exists(folder_ / (lab + ".done")), fs::exists(folder_ / (lab + ".csv"))) << lab;
  expect_partial_rows(folder_ / "rows.csv");
}

}  // namespace
}  // namespace klab
