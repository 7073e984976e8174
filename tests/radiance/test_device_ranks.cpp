// Gradients that lie in the memory of GPUs: a fake communicator replaces NCCL, and the host executor the
// GPUs.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "harness/simt/runtime_api.h"
#include "labs/radiance/ranks/device_ranks.h"
#include "labs/radiance/train/backends.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

TEST(DeviceRanks, EachRankOfAMachineTakesTheNextGpu) {
  EXPECT_EQ(gpu_of(0, nullptr, 4), "0");
  EXPECT_EQ(gpu_of(5, nullptr, 4), "1");
  EXPECT_EQ(gpu_of(1, "3,7", 8), "7");
  EXPECT_EQ(gpu_of(2, "3,7", 8), "3");
  EXPECT_EQ(gpu_of(1, nullptr, 1), "") << "one GPU is everybody's";
  EXPECT_EQ(gpu_of(1, "", 4), "") << "none is to be seen";
}

/// Calls to the communicator.
struct Asked {
  static inline std::string calls;
  static inline const char* error = nullptr;
  static const char* new_id(void* id) {
    std::memset(id, 7, DeviceCalls::kIdBytes);
    calls += "id ";
    return nullptr;
  }
  static const char* join(const void* id, int rank, int size) {
    const auto* bytes = static_cast<const unsigned char*>(id);
    calls += "join " + std::to_string(bytes[DeviceCalls::kIdBytes - 1]) + " " + std::to_string(rank) + "/" +
             std::to_string(size) + " ";
    return error;
  }
  static void leave() { calls += "leave"; }
  static const char* mean(float*, int64_t count) {
    calls += "mean " + std::to_string(count) + " ";
    return error;
  }
  static const char* mean_of_parts(float*, const int64_t* begin, const int64_t* count) {
    calls += "parts " + std::to_string(begin[1]) + "+" + std::to_string(count[1]) + " ";
    return error;
  }
  static const char* gather_parts(float*, const int64_t* begin, const int64_t* count) {
    calls += "gather " + std::to_string(begin[0]) + "+" + std::to_string(count[0]) + " ";
    return error;
  }
};
constexpr DeviceCalls kAsked{Asked::new_id, Asked::join,          Asked::leave,
                             Asked::mean,   Asked::mean_of_parts, Asked::gather_parts};

TEST(DeviceRanks, CountsValuesAndReportsErrors) {
  Asked::calls.clear();
  Asked::error = nullptr;
  {
    const auto all = DeviceRanks::join(Ranks::here(), kAsked, nullptr);
    ASSERT_NE(all, nullptr);
    const std::vector<Piece> parts = {{0, 40}, {40, 24}};
    all->mean(nullptr, 16);
    all->mean_of_parts(nullptr, parts);
    all->gather_parts(nullptr, parts);
    Asked::error = "unhandled system error";
    try {
      all->mean(nullptr, 16);
      ADD_FAILURE() << "an error is no sum";
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "the sum over GPUs: unhandled system error");
    }
  }
  EXPECT_EQ(Asked::calls, "id join 7 0/1 mean 16 parts 10+6 gather 0+10 mean 16 leave");
  std::string why;
  EXPECT_EQ(DeviceRanks::join(Ranks::here(), kAsked, &why), nullptr);
  EXPECT_EQ(why, "rank 0: unhandled system error");
  EXPECT_EQ(DeviceRanks::join(Ranks::here(), &why), nullptr) << "beside a test there is no module";
  EXPECT_NE(why.find("NCCL"), std::string::npos) << why;
}

std::vector<float> from_device(const float* values, int64_t count) {
  std::vector<float> host(static_cast<size_t>(count));
  simt::device_download(host.data(), values, host.size() * sizeof(float));
  return host;
}
void to_device(float* values, const std::vector<float>& host) {
  simt::device_upload(values, host.data(), host.size() * sizeof(float));
}

Config tiny() {
  Config c = small_config();
  c.levels = 2;
  c.log2_table = 8;
  c.finest_resolution = 16;
  c.batch_samples = 256;
  c.first_rays = 16;
  c.grid = 8;
  c.steps_per_diagonal = 32;
  return c;
}

const Plan& cuda_plan() {
  static CallTimes times = later_is_faster();
  static const Plan plan = Plan::named("naive", training_calls(tiny(), 1), times, "cuda");
  return plan;
}

/// Rank `rank` of two, whose other rank contributes `other` for each gradient in turn. `own` keeps this
/// rank's gradients; with an empty `other` they are returned unchanged.
struct Half {
  std::vector<std::vector<float>> other, own;
  std::vector<Stretch> gathered;
  BatchShare share;
  std::unique_ptr<Trainer> trainer;

  Half(int64_t rank, bool sharded, std::vector<std::vector<float>> of_other) : other(std::move(of_other)) {
    share.parts = share.ranks = 2;
    share.first = share.rank = rank;
    share.sum = [](std::span<const SharedGradient> gradients, std::span<double> numbers, float) {
      EXPECT_TRUE(gradients.empty()) << "gradients go through the host";
      for (double& n : numbers) n *= 2;  // the other's are alike
    };
    const auto take = [this](float* values, int64_t count) {
      std::vector<float> mine = from_device(values, count);
      own.push_back(mine);
      if (own.size() > other.size()) return mine;
      for (size_t i = 0; i < mine.size(); ++i) mine[i] = 0.5F * (mine[i] + other[own.size() - 1][i]);
      return mine;
    };
    share.on_device.mean = [take](float* values, int64_t count) { to_device(values, take(values, count)); };
    share.on_device.mean_of_parts = [take, rank](float* values, std::span<const Stretch> parts) {
      std::vector<float> mean = take(values, parts.back().end);
      for (int64_t i = 0; i < int64_t(mean.size()); ++i)
        if (i < parts[size_t(rank)].begin || i >= parts[size_t(rank)].end)
          mean[size_t(i)] = std::numeric_limits<float>::quiet_NaN();  // means nothing
      to_device(values, mean);
    };
    share.on_device.gather_parts = [this](float*, std::span<const Stretch> parts) {
      gathered.assign(parts.begin(), parts.end());
    };
    if (sharded) {
      share.part_of_rank = [](int64_t r, size_t, int64_t n) {
        const int64_t half = n / 4 * 2;
        return r == 0 ? Stretch{0, half} : Stretch{half, n};
      };
      share.complete = [](size_t, std::span<float>) { ADD_FAILURE() << "parameters go through the host"; };
    }
    const BackendChoice place = backend_named("simt");
    trainer = std::make_unique<Trainer>(small_scene(), tiny(), cuda_plan(), 5, place.backend, place.sizes,
                                        nullptr, share);
  }
};

std::vector<float> gradient_of(Trainer& trainer, Part part) {
  const Array<float>& g = trainer.gradient(part);
  return {g.begin(), g.end()};
}

TEST(DeviceRanks, TheMeanOverGpusIsTheStepsGradient) {
  Half second(1, false, {});
  second.trainer->shared_loss_and_gradient();
  ASSERT_EQ(second.own.size(), 3U) << "three arrays are learned";
  Half first(0, false, second.own);
  first.trainer->shared_loss_and_gradient();
  double largest = 0;
  for (const Part part : kParts) {
    const std::vector<float> g = gradient_of(*first.trainer, part);
    const auto &mine = first.own[size_t(part)], &others = second.own[size_t(part)];
    ASSERT_EQ(g.size(), mine.size());
    for (size_t i = 0; i < g.size(); ++i) {
      ASSERT_EQ(g[i], 0.5F * (mine[i] + others[i])) << int(part) << ", " << i;
      largest = std::max(largest, double(std::abs(g[i])));
    }
  }
  EXPECT_GT(largest, 0) << "gradients of zero would say nothing";
}

TEST(DeviceRanks, ARankOfAShardedTableUpdatesItsPartAndReceivesTheRest) {
  Half second(1, false, {});
  second.trainer->shared_loss_and_gradient();
  Half first(0, true, second.own);
  const std::vector<float> before(first.trainer->model().of(Part::table).begin(),
                                  first.trainer->model().of(Part::table).end());
  first.trainer->step(0);
  const Array<float>& after = first.trainer->model().of(Part::table);
  ASSERT_EQ(first.gathered.size(), 2U);
  EXPECT_EQ(first.gathered[1].end, after.size());
  int64_t moved = 0;
  for (int64_t i = 0; i < after.size(); ++i) {
    ASSERT_TRUE(std::isfinite(after[i])) << "what means nothing was taken for a gradient";
    const bool is_own = i < first.gathered[0].end;
    if (!is_own) {
      ASSERT_EQ(after[i], before[size_t(i)]) << "moves another rank's part";
    }
    moved += after[i] != before[size_t(i)];
  }
  EXPECT_GT(moved, 0);
}

}  // namespace
}  // namespace klab
