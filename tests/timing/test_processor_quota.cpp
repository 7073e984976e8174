// Threads within a quota of processor time, read from made-up control groups.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "harness/timing/processor_quota.h"
#include "tests/core/temp_folder.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

/// A folder with files as /proc and /sys have them.
class QuotaTree : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text << "\n";
  }
  std::optional<double> quota() const { return processor_quota(root_.string()); }

  const TempFolder own_;
  const fs::path root_ = own_.path();
};

TEST_F(QuotaTree, IsAbsentWithoutControlGroups) { EXPECT_FALSE(quota()); }

TEST_F(QuotaTree, TakesTheTightestLimitAboveTheProcess) {
  write("proc/self/cgroup", "0::/user/job");
  write("sys/fs/cgroup/user/job/cpu.max", "max 100000");
  EXPECT_FALSE(quota());
  write("sys/fs/cgroup/user/cpu.max", "250000 100000");
  ASSERT_TRUE(quota());
  EXPECT_DOUBLE_EQ(*quota(), 2.5);
  write("sys/fs/cgroup/cpu.max", "50000 100000");
  EXPECT_DOUBLE_EQ(*quota(), 0.5);
}

TEST_F(QuotaTree, ReadsTheContainersOwnRoot) {
  write("proc/self/cgroup", "0::/");
  write("sys/fs/cgroup/cpu.max", "400000 100000");
  EXPECT_DOUBLE_EQ(*quota(), 4);
}

TEST_F(QuotaTree, ReadsTheFirstVersion) {
  write("proc/self/cgroup", "7:memory:/job\n4:cpu,cpuacct:/job");
  write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1");
  write("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000");
  EXPECT_FALSE(quota());
  write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "150000");
  EXPECT_DOUBLE_EQ(*quota(), 1.5);
}

TEST_F(QuotaTree, IgnoresFilesThatHoldNoNumbers) {
  write("proc/self/cgroup", "0::/job\nnonsense\n::");
  write("sys/fs/cgroup/job/cpu.max", "many few");
  EXPECT_FALSE(quota());
}

TEST(ThreadsWithinQuota, NeverExceedItAndAreAtLeastOne) {
  EXPECT_EQ(threads_within_quota(8, std::nullopt), 8);
  EXPECT_EQ(threads_within_quota(8, 16), 8);
  EXPECT_EQ(threads_within_quota(8, 2), 2);
  EXPECT_EQ(threads_within_quota(8, 1.9), 2);
  EXPECT_EQ(threads_within_quota(8, 2.5), 2);
  EXPECT_EQ(threads_within_quota(8, 0.2), 1);
}

}  // namespace
}  // namespace klab
