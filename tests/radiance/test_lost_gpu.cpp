// A GPU that is lost in the middle of a run: from some call on every call fails, as after a sticky error. The run ends in a line that
// names the call and what can be gone on with, and the processor goes on with it.
// ctest: slow
#include <gtest/gtest.h>
#include <omp.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <random>
#include <stdexcept>

#include "harness/records/input.h"
#include "labs/radiance/run/run.h"
#include "labs/radiance/train/backends.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

/// Fails every call from the `first` on, of which that is counted.
class Lost {
 public:
  explicit Lost(int64_t first) {
    set_backend_hook([this, first](const char* call) {
      ++calls_[call];
      if (count_++ < first) return;
      if (failed_.empty()) failed_ = call;
      throw std::runtime_error(std::string("cudaErrorLaunchFailure: unspecified launch failure in ") + call);
    });
  }
  ~Lost() { set_backend_hook({}); }
  Lost(const Lost&) = delete;
  Lost& operator=(const Lost&) = delete;
  int64_t count() const { return count_; }
  const std::map<std::string, int64_t>& calls() const { return calls_; }
  const std::string& failed() const { return failed_; }

 private:
  int64_t count_ = 0;
  std::map<std::string, int64_t> calls_;
  std::string failed_;
};

class LostGpu : public testing::Test {
 protected:
  void SetUp() override {
    omp_set_num_threads(1);
    std::string form = (fs::temp_directory_path() / "klab_lost_XXXXXX").string();
    ASSERT_NE(mkdtemp(form.data()), nullptr);
    path = form;
  }
  void TearDown() override { fs::remove_all(path); }

  /// What a short run ended with: "" when in order.
  std::string run(RunOptions options) {
    options.steps = 4;
    options.checkpoint_every = 1e-9;  // after every step
    options.json = true;
    options.evaluate = false;
    static CallTimes times;
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    std::string end;
    try {
      end = train(options, times) == 0 ? "" : "another exit code";
    } catch (const std::runtime_error& e) {
      end = e.what();
    }
    testing::internal::GetCapturedStdout();
    testing::internal::GetCapturedStderr();
    return end;
  }
  std::string begin(const std::string& name) {
    RunOptions options;
    options.backend = "simt";
    options.downscale = 29;
    options.settings.hash = small_config();
    options.settings.hash.batch_samples = 512;
    options.settings.hash.first_rays = 16;
    options.settings.hash.grid = 8;
    options.settings.hash.log2_table = 6;
    options.settings.hash.levels = 2;
    options.out = path / name;
    options.plan = "naive";
    return run(options);
  }
  fs::path path;
};

TEST_F(LostGpu, NamesTheCallAndTheCheckpointAndTheProcessorGoesOn) {
  int64_t calls = 0;
  {
    const Lost never(1LL << 60);
    ASSERT_EQ(begin("whole"), "");
    calls = never.count();
    for (const char* call : {"alloc", "upload", "download", "fill", "launch"})
      EXPECT_GT(never.calls().contains(call) ? never.calls().at(call) : 0, 0) << call;
  }
  ASSERT_GT(calls, 100);
  std::mt19937_64 random(5);
  std::map<std::string, int> failed;
  int gone_on = 0;
  for (int i = 0; i < 12; ++i) {
    // Half of them late, so that there is a checkpoint.
    const int64_t first = i % 2 == 0 ? calls / 2 + int64_t(random() % uint64_t(calls / 2))
                                     : int64_t(random() % uint64_t(calls));
    const std::string name = "lost" + std::to_string(i);
    std::string end, call;
    {
      const Lost lost(first);
      end = begin(name);
      call = lost.failed();
    }
    ++failed[call];
    SCOPED_TRACE("call " + std::to_string(first) + " of " + std::to_string(calls) + ": " + end);
    EXPECT_NE(end.find("unspecified launch failure in " + call), std::string::npos);
    EXPECT_EQ(end.find('\n'), std::string::npos);
    const bool there = fs::exists(path / name / "checkpoint.safetensors");
    EXPECT_FALSE(fs::exists(path / name / "result.json"));
    if (!there) continue;
    EXPECT_NE(end.find("klab train --resume " + (path / name).string()), std::string::npos);
    RunOptions again;
    again.resume = path / name;
    again.plan = "naive";
    EXPECT_EQ(run(again), "");  // on the processor
    EXPECT_TRUE(fs::exists(path / name / "model.safetensors"));
    ++gone_on;
  }
  EXPECT_GE(gone_on, 3);
  EXPECT_GE(failed.size(), 2U);
}

}  // namespace
}  // namespace klab
