// Start and end of a run in its folder: one process a folder, files checked beforehand, metrics cut back to
// the checkpoint, contradictions named, signals that end a hanging run.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/records/input.h"
#include "labs/radiance/run/chart.h"
#include "labs/radiance/run/folder.h"
#include "labs/radiance/run/metrics.h"
#include "labs/radiance/run/state.h"
#include "labs/radiance/run/stop.h"
#include "tests/core/temp_folder.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

class RunIn : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) const { std::ofstream(path / name) << text; }
  std::string get(const std::string& name) const { return read_input(path / name); }
  template <class Call>
  static std::string error_of(Call call) {
    try {
      call();
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "";
  }

  const TempFolder temp_;
  const fs::path path = temp_.path();
};

TEST_F(RunIn, LocksItsFolder) {
  const fs::path folder = path / "run";
  {
    const RunFolder mine = RunFolder::create(folder, "scene");
    const std::string message = error_of([&] { RunFolder::create(folder, "scene"); });
    EXPECT_NE(message.find("process " + std::to_string(getpid())), std::string::npos) << message;
    EXPECT_NE(message.find("run"), std::string::npos);
  }
  EXPECT_TRUE(fs::is_empty(folder)) << "the lock stays";
  RunFolder::create(folder, "scene");
  // A process that is killed leaves the file, and no lock.
  const pid_t child = fork();
  if (child == 0) {
    const RunFolder theirs = RunFolder::create(folder, "scene");
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_FALSE(fs::is_empty(folder));
  RunFolder::create(folder, "scene");
}

TEST_F(RunIn, RemovesFilesOfAKilledProcess) {
  put("checkpoint.safetensors", "x");
  put(".checkpoint.safetensors.123.tmp", "half");
  put("mine.tmp", "kept");
  const RunFolder run = RunFolder::reopen(path);
  EXPECT_FALSE(fs::exists(path / ".checkpoint.safetensors.123.tmp"));
  EXPECT_TRUE(fs::exists(path / "mine.tmp"));
  EXPECT_NE(error_of([&] { RunFolder::reopen(path / "nowhere"); }), "");
}

TEST_F(RunIn, ChecksEveryFileBeforehand) {
  const RunFolder run = RunFolder::create(path, "scene");
  run.require_writable(1000, 1000);
  fs::create_directory(path / "result.json");
  EXPECT_NE(error_of([&] { run.require_writable(1000, 1000); }).find("result.json"), std::string::npos);
  fs::remove(path / "result.json");
  EXPECT_NE(error_of([&] { run.require_writable(int64_t(1) << 60, 1000); }).find("MB are free"),
            std::string::npos);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{1 << 20, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string message = error_of([&] { run.require_writable(1000, 2 << 20); });
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_NE(message.find("ulimit"), std::string::npos) << message;
}

TEST_F(RunIn, MetricsAreCutBackToTheCheckpoint) {
  const MetricsLine line{
      .report = {.step = 60, .loss = 0.5, .rays = 1, .samples = 2, .marched = 3}, .seconds = 2, .batch = 77};
  { Metrics(path / "metrics.csv", 0).line(line); }
  std::string head = get("metrics.csv");
  head.resize(head.find('\n') + 1);
  std::string rest;
  for (auto commas = std::count(head.begin(), head.end(), ','); commas > 0; --commas) rest += ",1";
  put("metrics.csv", head + "10" + rest + "\n50" + rest + "\n51" + rest + "\n5");
  { Metrics(path / "metrics.csv", 50).line(line); }
  const std::string text = get("metrics.csv");
  EXPECT_EQ(text.find(head), 0U);
  EXPECT_EQ(text.find("\n51,"), std::string::npos) << text;
  const MetricsColumns read = read_metrics(path / "metrics.csv");
  EXPECT_EQ(read.at("step"), (std::vector<double>{10, 50, 60}));
  EXPECT_EQ(read.at("seconds").back(), 2);
  EXPECT_EQ(read.at("batch"), (std::vector<double>{1, 1, 77}));
}

TEST_F(RunIn, ContinuesMetricsOfOlderVersions) {
  put("metrics.csv",
      "step,seconds,loss,psnr_batch,rays,samples,marched,samples_per_second,occupied\n10,1,0.25,3,4,5,6,7,0."
      "5\n");
  EXPECT_EQ(read_metrics(path / "metrics.csv").count("memory"), 0U);
  { Metrics(path / "metrics.csv", 10).line({.report = {.step = 11}, .memory = 5}); }
  const MetricsColumns read = read_metrics(path / "metrics.csv");
  EXPECT_EQ(read.at("step"), (std::vector<double>{10, 11}));
  EXPECT_EQ(read.at("loss"), (std::vector<double>{0.25, 0}));
  EXPECT_TRUE(std::isnan(read.at("memory")[0]));
  EXPECT_EQ(read.at("memory")[1], 5);
}

TEST_F(RunIn, RefusesBadMetricsByLineAndColumn) {
  put("metrics.csv", "step,loss\n1,2\n3\n");
  const auto error = [&] { return error_of([&] { read_metrics(path / "metrics.csv"); }); };
  EXPECT_NE(error().find("line 3: has 1 fields"), std::string::npos) << error();
  put("metrics.csv", "step,loss\n1,2\n3,x\n");
  EXPECT_NE(error().find("line 3: \"loss\" must be"), std::string::npos) << error();
  put("metrics.csv", "seconds\n1\n");
  EXPECT_NE(error().find("no column \"step\""), std::string::npos) << error();
  put("metrics.csv", "step,step\n1,1\n");
  EXPECT_NE(error().find("two columns \"step\""), std::string::npos) << error();
  put("metrics.csv", "");
  EXPECT_NE(error(), "");
}

TEST(Chart, DrawsFiniteValues) {
  const std::vector<double> x = {0, 1, 2, 3}, up = {1, 10, 100, 1000}, none = {NAN, NAN, INFINITY, NAN};
  EXPECT_TRUE(chart(x, none, {}).empty());
  EXPECT_TRUE(chart(x, std::vector<double>{0, -1, 0, 0}, {.logarithmic = true}).empty());
  const auto lines = chart(x, up, {.width = 4, .height = 2, .logarithmic = true});
  ASSERT_EQ(lines.size(), 2U);
  // A straight line from the lower left to the upper right dot: 8 columns, 8 rows, joined.
  EXPECT_EQ(lines[0], "1e+03   \u2860\u280A") << lines[0];
  EXPECT_EQ(lines[1], "    1 \u2860\u280A") << lines[1];
  const auto level = chart(x, std::vector<double>{5, 5, 5, 5}, {.width = 4, .height = 1});
  ASSERT_EQ(level.size(), 1U);
  EXPECT_EQ(level[0].find("5 "), 0U);
}

class Resumed : public RunIn {
 protected:
  void SetUp() override {
    RunIn::SetUp();
    fs::create_directories(path / "scene");
    fs::create_directories(path / "run");
    options.resume = path / "run";
    run.scene = path / "scene";
    run.scene_from_run = "../scene";
    run.seed = 5;
    run.downscale = 2;
  }
  std::string error() const {
    return error_of([&] { resumed_scene(options, run); });
  }
  RunOptions options;
  RunState run;
};

TEST_F(Resumed, ContradictionsAreNamed) {
  EXPECT_EQ(resumed_scene(options, run), (path / "scene").string());
  options.seed = 5;
  options.downscale = 2;
  options.holdout = 8;
  options.scene = (path / "run" / ".." / "scene").string();
  EXPECT_EQ(error(), "") << "what agrees may be said";
  options.seed = 6;
  EXPECT_NE(error().find("--seed 6 contradicts"), std::string::npos) << error();
  options.seed.reset();
  options.downscale = 4;
  EXPECT_NE(error().find("--downscale 4 contradicts"), std::string::npos) << error();
  options.downscale.reset();
  options.holdout = 0;
  EXPECT_NE(error().find("--holdout 0 contradicts"), std::string::npos) << error();
  options.holdout.reset();
  options.scene = "elsewhere";
  EXPECT_NE(error().find("elsewhere contradicts"), std::string::npos) << error();
}

TEST_F(Resumed, AMovedSceneIsFound) {
  const fs::path moved = path / "moved";
  fs::create_directory(moved);
  fs::rename(path / "scene", moved / "scene");
  EXPECT_NE(error().find("say --scene DIR"), std::string::npos) << error();
  options.moved_to = (moved / "scene").string();
  EXPECT_EQ(resumed_scene(options, run), *options.moved_to);
  // Both moved together.
  options.moved_to.reset();
  fs::rename(path / "run", moved / "run");
  options.resume = moved / "run";
  EXPECT_EQ(resumed_scene(options, run), (moved / "scene").string());
  Scene other;
  other.train.resize(3);
  run.views = {4, 0, 0, 0};
  EXPECT_NE(error_of([&] { require_same_scene(run, other, "there"); }).find("not the scene"),
            std::string::npos);
}

TEST_F(Resumed, RoundTripsAStateWithAnyFileName) {
  RunState state = run;
  state.scene = path / "\xFF\xFE\xC3\xA9";
  state.plan = {{"adam", "adam.cpu.01_naive"}};
  state.seconds = 1.5;
  state.views = {1, 2, 3, 4};
  auto metadata = to_metadata(state);
  metadata["trainer"] = R"({"seed": 18446744073709551615})";
  save_tensors(path / "c.safetensors", {}, metadata);
  const RunState back = run_state_in(TensorFile(path / "c.safetensors"));
  EXPECT_EQ(back.scene, state.scene);
  EXPECT_EQ(back.scene_from_run, state.scene_from_run);
  EXPECT_EQ(back.plan, state.plan);
  EXPECT_EQ(back.seed, 18446744073709551615U);
  EXPECT_EQ(back.views, state.views);
}

/// Returns the signal that ends a process that ignores stop_requested.
int end_of_hanging(int first, int second) {
  const pid_t child = fork();
  if (child == 0) {
    const StopSignals signals;
    raise(first);
    if (second != 0) raise(second);
    while (true) pause();
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : -1;
}

TEST(Stop, ASecondSignalOrATimeoutEndsAHang) {
  EXPECT_EQ(end_of_hanging(SIGINT, SIGINT), SIGINT);
  EXPECT_EQ(end_of_hanging(SIGTERM, SIGINT), SIGINT);
  EXPECT_EQ(end_of_hanging(SIGTERM, 0), SIGTERM);
}

TEST(Stop, HeedingASignalCancelsTheTimeout) {
  const StopSignals signals;
  raise(SIGTERM);
  EXPECT_TRUE(stop_requested);
  stop_heeded();
  EXPECT_EQ(alarm(0), 0U);
}

}  // namespace
}  // namespace klab
