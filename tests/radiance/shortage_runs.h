// Whole runs in which allocations fail, from the scene to the score: each continues with a smaller batch or ends
// with the account and the checkpoint to resume from. Nothing crashes, nothing leaks.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <omp.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <new>
#include <nlohmann/json.hpp>
#include <random>

#include "harness/records/input.h"
#include "harness/records/memory_left.h"
#include "labs/radiance/run/budget.h"
#include "labs/radiance/run/run.h"
#include "labs/radiance/run/shortage.h"
#include "tests/core/temp_folder.h"
#include "tests/radiance/small_training.h"

namespace klab::shortage {

namespace fs = std::filesystem;

/// Makes allocations fail by their number: `fails` of them from `first` on.
class Failing {
 public:
  Failing(int64_t first, int64_t fails) {
    count() = 0;
    set_allocation_hook([first, fails](int64_t) {
      const int64_t n = count()++;
      if (n >= first && n < first + fails) throw std::bad_alloc();
    });
  }
  ~Failing() { set_allocation_hook({}); }
  static int64_t& count() {
    static int64_t n = 0;
    return n;
  }
};

/// Discards output in its lifetime.
class Silence {
 public:
  Silence() {
    std::fflush(nullptr);
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    for (const int stream : {1, 2}) {
      kept_[stream - 1] = dup(stream);
      dup2(nowhere, stream);
    }
    close(nowhere);
  }
  ~Silence() {
    std::fflush(nullptr);
    for (const int stream : {1, 2}) {
      dup2(kept_[stream - 1], stream);
      close(kept_[stream - 1]);
    }
  }
  Silence(const Silence&) = delete;

 private:
  int kept_[2];
};

inline size_t open_files() {
  size_t n = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator("/proc/self/fd")) ++n;
  return n;
}

inline int64_t owned_now() {
  int64_t sum = 0;
  for (const auto& [owner, bytes] : memory_by_owner()) sum += bytes.now;
  return sum;
}

class Shortages : public ::testing::Test {
 protected:
  void SetUp() override {
    omp_set_num_threads(1);  // small calls, that threads would only wait in
  }

  /// Runs briefly. Returns its error; "" if it ended normally.
  std::string run(const std::string& name, bool evaluated = true) const {
    RunOptions options;
    options.downscale = 29;  // 11 pixels a side, as few as SSIM takes
    options.steps = 6;
    options.settings.hash = small_config();
    options.settings.hash.grid = 16;
    options.settings.hash.grid_every = 2;
    options.out = path / name;
    options.plan = "naive";
    options.checkpoint_every = 1e-9;  // after every step
    options.json = true;
    options.memory = resident_memory() + 250'000'000;  // too little for ceilings, which take most of the time
    options.evaluate = evaluated;
    static CallTimes times;  // measured once
    const Silence silence;
    try {
      return train(options, times) == 0 ? "" : "another exit code";
    } catch (const std::runtime_error& e) {
      return e.what();
    }
  }
  nlohmann::json result(const std::string& name) const { return read_json_file(path / name / "result.json"); }

  /// Lets allocations fail at places drawn with the seed, in as many runs.
  void fail_at_random_places(int64_t failures, uint64_t seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    int64_t allocations = 0;
    {
      const Failing none(0, 0);
      ASSERT_EQ(run("first"), "");
      allocations = Failing::count();
    }
    ASSERT_GT(allocations, 50);
    const int64_t owned = owned_now();
    const size_t files = open_files();
    std::mt19937_64 random(seed);
    int64_t injected = 0, went_on = 0, ended = 0, smaller = 0;
    for (int i = 0; i < failures; ++i) {
      const std::string name = "run" + std::to_string(i);
      const int64_t first = std::uniform_int_distribution<int64_t>(0, allocations - 1)(random);
      const int64_t fails = std::array<int64_t, 5>{1, 1, 2, 4, 1000000}[random() % 5];
      std::string end;
      {
        const Failing failing(first, fails);
        end = run(name, i % 4 == 0);
        injected += std::clamp<int64_t>(Failing::count() - first, 0, fails);
      }
      if (end.empty()) {
        ++went_on;
        const auto r = result(name);
        EXPECT_GE(r.at("batch_samples").get<int64_t>(), kLeastBatch);
        smaller += r.at("batch_samples").get<int64_t>() < small_config().batch_samples;
        EXPECT_TRUE(fs::exists(path / name / "model.safetensors"));
      } else {
        ++ended;
        EXPECT_NE(end.find("out of memory"), std::string::npos) << end;
        EXPECT_NE(end.find("checkpoint"), std::string::npos) << end;
        EXPECT_EQ(end.find('\n'), std::string::npos) << end;
        // The files that it left can be opened.
        if (fs::exists(path / name / "checkpoint.safetensors")) {
          EXPECT_NO_THROW(TensorFile(path / name / "checkpoint.safetensors"));
        }
      }
      EXPECT_EQ(owned_now(), owned) << "leaked, failing " << fails << " from " << first << " on";
      EXPECT_EQ(open_files(), files);
      EXPECT_FALSE(fs::exists(path / name / ".lock"));
      for (const auto& entry : fs::directory_iterator(path / name))
        EXPECT_NE(entry.path().extension(), ".tmp") << entry;
      fs::remove_all(path / name);
    }
    EXPECT_GE(injected, failures);
    std::printf(
        "%ld runs of %ld allocations each, %ld failures: %ld went on, %ld of them with a smaller batch, %ld "
        "ended with the account\n",
        long(failures), long(allocations), long(injected), long(went_on), long(smaller), long(ended));
    if (failures < 50) return;
    EXPECT_GT(went_on, failures / 20);
    EXPECT_GT(ended, failures / 20);
    EXPECT_GT(smaller, failures / 40);
  }

  const TempFolder temp_;
  const fs::path path = temp_.path();
};

}  // namespace klab::shortage
