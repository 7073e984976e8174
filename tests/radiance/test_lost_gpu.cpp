// A GPU that is lost in the middle of a run: from some call on every call fails, as after a sticky error. The
// run ends with a line that names the call and the checkpoint to resume from, and the processor resumes from
// it.
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
#include "tests/core/temp_folder.h"
#include "tests/radiance/scene_folder.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

/// Fails every call from the `first` on, counted among all, or among those of one name; keeps the name of the
/// failed call.
class Lost {
 public:
  explicit Lost(int64_t first, const std::string& name = "") {
    set_backend_hook([this, first, name](const char* call) {
      const int64_t same = calls_[call]++;
      const int64_t all = count_++;
      if (failed_.empty() && (name.empty() ? all : name == call ? same : -1) < first) return;
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
  void SetUp() override { omp_set_num_threads(1); }

  /// Returns the error of a short run; "" if it ended normally.
  static std::string run(RunOptions options, int64_t steps = 4) {
    options.steps = steps;
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
  static RunOptions on_simt(const fs::path& out) {
    RunOptions options;
    options.backend = "simt";
    options.downscale = 29;
    options.settings.hash = small_config();
    options.settings.hash.batch_samples = 512;
    options.settings.hash.first_rays = 16;
    options.settings.hash.grid = 8;
    options.settings.hash.log2_table = 6;
    options.settings.hash.levels = 2;
    options.out = out;
    options.plan = "naive";
    return options;
  }
  std::string begin(const std::string& name) { return run(on_simt(path / name)); }
  const TempFolder temp_;
  const fs::path path = temp_.path();
};

TEST_F(LostGpu, NamesTheCallAndTheCheckpointThatTheCpuResumes) {
  int64_t calls = 0;
  {
    const Lost never(1LL << 60);
    ASSERT_EQ(begin("whole"), "");
    calls = never.count();
    for (const char* call : {"alloc", "upload", "download", "fill", "load", "loaded", "launch"})
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

struct Poses : SceneFolder {
  using SceneFolder::pose;
};

/// Pictures that take turns: their loads, the first ones and one in the middle of the run, fail as everything else does.
TEST_F(LostGpu, InALoadOfAPictureEndsTheRunToo) {
  json document = {{"camera_angle_x", 0.7}, {"frames", json::array()}};
  for (int i = 0; i < 8; ++i) {
    const std::string name = "view_" + std::to_string(i);
    std::vector<uint8_t> pixels(16 * 12 * 4, uint8_t(20 * i));
    save_png(path / (name + ".png"), 16, 12, 4, pixels);
    document["frames"].push_back({{"file_path", "./" + name}, {"transform_matrix", Poses::pose(float(i))}});
  }
  std::ofstream(path / "transforms_train.json") << document.dump();
  constexpr int64_t steps = 3 * PictureTurns::kEvery;
  const auto turning = [&](const std::string& name) {
    RunOptions options = on_simt(path / name);
    options.downscale = 1;
    options.scene = path.string();
    options.resident = 3;
    return run(options, steps);
  };
  std::map<std::string, int64_t> calls;
  {
    const Lost never(1LL << 60);
    ASSERT_EQ(turning("whole"), "");
    calls = never.calls();
  }
  EXPECT_GE(calls["load"], 3 + 2) << "the first pictures and one a turn";
  EXPECT_EQ(calls["loaded"], 1 + 2);
  for (const auto& [call, first] : {std::pair<std::string, int64_t>{"load", 0}, {"load", 4}, {"loaded", 1}}) {
    const std::string name = call + std::to_string(first);
    std::string end, failed;
    {
      const Lost lost(first, call);
      end = turning(name);
      failed = lost.failed();
    }
    EXPECT_EQ(failed, call);
    EXPECT_NE(end.find("unspecified launch failure in " + call), std::string::npos) << end;
    EXPECT_EQ(end.find('\n'), std::string::npos) << end;
    EXPECT_FALSE(fs::exists(path / name / "result.json"));
    if (first == 0) continue;
    EXPECT_NE(end.find("klab train --resume " + (path / name).string()), std::string::npos) << end;
    RunOptions again;
    again.resume = path / name;
    again.plan = "naive";
    EXPECT_EQ(run(again, steps), "");  // on the processor
  }
}

}  // namespace
}  // namespace klab
