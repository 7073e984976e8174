// Searches with early stopping, on made-up times and scores; and the file that remembers their results.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <new>
#include <random>

#include "harness/records/input.h"
#include "labs/radiance/tune/race.h"
#include "labs/radiance/tune/remembered.h"
#include "labs/radiance/tune/tune.h"
#include "tests/core/temp_folder.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

/// Times with the noise of a shared machine: some per cent, and now and then twice as long.
class Noisy {
 public:
  explicit Noisy(uint64_t seed) : engine_(seed) {}
  double operator()(double seconds) {
    const double wild = std::uniform_real_distribution<>()(engine_) < 0.05 ? 2 : 1;
    return seconds * wild * std::exp(std::normal_distribution<>(0, 0.03)(engine_));
  }

 private:
  std::mt19937_64 engine_;
};

std::vector<Racer> racers_of(size_t count) {
  std::vector<Racer> racers;
  for (size_t i = 0; i < count; ++i) racers.push_back({.name = std::to_string(i)});
  return racers;
}

TEST(Race, FindsTheFastestAndMeasuresTheSlowLess) {
  const std::vector<double> truth = {2e-6, 1e-6, 8e-6, 1.5e-6};
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Noisy noisy(seed);
    std::vector<Racer> racers = racers_of(truth.size());
    const size_t best = race(racers, [&](size_t i) { return noisy(truth[i]); }, {});
    EXPECT_EQ(best, 1U) << "seed " << seed;
    EXPECT_NE(racers[2].out.find("as slow after"), std::string::npos) << racers[2].out;
    EXPECT_LE(racers[2].seconds.size(), racers[1].seconds.size());
    EXPECT_NEAR(times_as_slow(racers[1], racers[0]), 2, 0.3);
  }
}

TEST(Race, EndsAsSoonAsDecided) {
  std::vector<Racer> racers = racers_of(3);
  int calls = 0;
  race(racers, [&](size_t i) { return ++calls, i == 2 ? 1.0 : 3.0; }, {.least = 4, .most = 100});
  EXPECT_EQ(calls, 3 * 4);
}

TEST(Race, KeepsTheFirstUnlessAnotherIsFaster) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    Noisy noisy(seed);
    std::vector<Racer> racers = racers_of(3);
    const std::vector<double> truth = {1.0, 0.999, 1.001};
    EXPECT_EQ(race(racers, [&](size_t i) { return noisy(truth[i]); }, {.most = 30, .same = 0.05}), 0U)
        << "seed " << seed;
  }
}

TEST(Race, DropsRacersWithoutMemory) {
  std::vector<Racer> racers = racers_of(3);
  const auto measure = [](size_t i) { return i == 0 ? throw std::bad_alloc() : double(i); };
  EXPECT_EQ(race(racers, measure, {}), 1U);
  EXPECT_NE(racers[0].out.find("memory"), std::string::npos);
  std::vector<Racer> none = racers_of(2);
  EXPECT_THROW(race(none, [](size_t) -> double { throw std::bad_alloc(); }, {}), std::runtime_error);
  std::vector<Racer> empty;
  EXPECT_THROW(race(empty, measure, {}), std::invalid_argument);
}

TEST(Race, DiscardsAnInterruptedRound) {
  std::vector<Racer> racers = racers_of(2);
  int calls = 0;
  race(racers, [&](size_t i) { return ++calls, double(1 + i); },
       {.least = 90, .most = 100, .stop = [&] { return calls >= 5; }});
  EXPECT_EQ(racers[0].seconds.size(), 2U);
  EXPECT_EQ(racers[1].seconds.size(), 2U);
}

std::vector<Contender> contenders_of(size_t count) {
  std::vector<Contender> list;
  for (size_t i = 0; i < count; ++i) list.push_back({.name = std::to_string(i)});
  return list;
}

TEST(Halving, TrainsTheBetterHalfOnAndSpendsLessThanTheTotal) {
  std::vector<Contender> list = contenders_of(4);
  std::vector<double> trained(4);
  const std::vector<double> level = {20, 22, 21, 10};
  const size_t best =
      halve(list, [&](size_t i, double until) { return trained[i] = until, level[i] + 2 * std::log2(until); },
            {.seconds = 80});
  EXPECT_EQ(best, 1U);
  EXPECT_EQ(list[0].seconds, (std::vector<double>{20}));
  EXPECT_EQ(list[2].seconds, (std::vector<double>{20, 40}));
  EXPECT_EQ(list[1].seconds, (std::vector<double>{20, 40}));  // alone behind the second stage
  EXPECT_EQ(list[3].out, "12.00 below the best after 20 s");
  EXPECT_DOUBLE_EQ(trained[0] + trained[1] + trained[2] + trained[3], 20 + 40 + 40 + 20);
}

TEST(Halving, KeepsTheFirstUnlessAnotherIsClearlyBetter) {
  std::vector<Contender> list = contenders_of(3);
  const std::vector<double> level = {30, 30.05, 30.08};
  EXPECT_EQ(halve(list, [&](size_t i, double) { return level[i]; }, {.same = 0.1}), 0U);
  list = contenders_of(3);
  EXPECT_EQ(halve(list, [&](size_t i, double) { return level[i]; }, {.same = 0.01}), 2U);
}

TEST(Halving, DropsContendersWithoutMemory) {
  std::vector<Contender> list = contenders_of(3);
  const auto train = [](size_t i, double) { return i == 1 ? throw std::bad_alloc() : double(i); };
  EXPECT_EQ(halve(list, train, {}), 2U);
  EXPECT_NE(list[1].out.find("memory"), std::string::npos);
}

TEST(Halving, TimeSavedComesFromTheFasterCurve) {
  const Contender slow{.name = "slow", .seconds = {10, 20}, .score = {20, 22}};
  // 22 lies half-way between 21 and 23, so at the geometric mean of 10 and 20 seconds.
  EXPECT_NEAR(time_saved({.name = "", .seconds = {10, 20}, .score = {21, 23}}, slow), 20 / std::sqrt(200.0),
              1e-9);
  EXPECT_NEAR(time_saved({.name = "", .seconds = {10, 20}, .score = {25, 26}}, slow), 2, 1e-9);
  EXPECT_EQ(time_saved({.name = "", .seconds = {10, 20}, .score = {19, 21}}, slow), 1);
  EXPECT_EQ(time_saved({.name = ""}, slow), 1);
}

class Remembered : public testing::Test {
 protected:
  void write(const std::string& text) {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::string refusal() {
    try {
      tuned_in(file, {}, "cpu");
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "";
  }
  static Tuned some() {
    return {.field = "hash",
            .backend = "cpu",
            .recipe = recipe_of({}),
            .threads = 3,
            .threads_gain = 1.5,
            .batch_samples = 65536,
            .batch_seconds = 60,
            .batch_gain = 1.25,
            .workers = 2,
            .ahead = 4,
            .pictures_gain = 1.1,
            .took = 12.5,
            .scene = "a scene",
            .date = "2020-01-31",
            .commit = "abc"};
  }
  const TempFolder own;
  const fs::path folder = own.path(), file = folder / "deeper" / "tuned.json";
};

TEST_F(Remembered, IsReusedForTheSameFieldBackendAndRecipe) {
  EXPECT_FALSE(tuned_in(file, {}, "cpu").has_value());
  remember(file, some());
  const auto back = tuned_in(file, {}, "cpu");
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->threads, 3);
  EXPECT_EQ(back->batch_samples, 65536);
  EXPECT_EQ(back->ahead, 4);
  EXPECT_EQ(back->scene, "a scene");
  EXPECT_NEAR(back->gain(), 1.5 * 1.25 * 1.1, 1e-12);
  EXPECT_FALSE(tuned_in(file, {}, "simt").has_value());
  FieldSettings other;
  other.hash.log2_table = 14;
  EXPECT_FALSE(tuned_in(file, other, "cpu").has_value());
  other = {};
  other.hash.batch_samples = 512;  // a result of the search, not part of its key
  EXPECT_TRUE(tuned_in(file, other, "cpu").has_value());
}

TEST_F(Remembered, BlocksRoundTripAndInvalidSizesAreRefused) {
  Tuned gpu = some();
  gpu.backend = "cuda";
  gpu.blocks = {{"ema.cuda.02_sixteen_bytes", 128}};
  gpu.blocks_by = "time";
  gpu.blocks_gain = 2;
  remember(file, some());
  remember(file, gpu);
  const auto back = tuned_in(file, {}, "cuda");
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->blocks, gpu.blocks);
  EXPECT_NEAR(back->gain(), 2 * some().gain(), 1e-12);
  EXPECT_TRUE(tuned_in(file, {}, "cpu")->blocks.empty());
  gpu.blocks_by = "counts";
  EXPECT_NEAR(gpu.gain(), some().gain(), 1e-12) << "what was counted took no time";
  for (const char* bad : {"100", "-1", "2048", "\"many\""}) {
    std::string text = read_input(file);
    text.replace(text.find("128"), 3, bad);
    write(text);
    EXPECT_NE(refusal().find("\"blocks\""), std::string::npos) << bad << ": " << refusal();
    remember(file, some());
    gpu.blocks_by = "time";
    remember(file, gpu);
  }
}

TEST_F(Remembered, TheLastFindReplacesOnlyItsPredecessor) {
  remember(file, some());
  Tuned other = some();
  other.recipe = "another";
  remember(file, other);
  Tuned again = some();
  again.threads = 7;
  remember(file, again);
  EXPECT_EQ(tuned_in(file, {}, "cpu")->threads, 7);
  EXPECT_NE(read_input(file).find("another"), std::string::npos);
}

TEST_F(Remembered, DamagedFilesAreNamedWithTheFieldAndReplaced) {
  for (const auto& [text, words] : std::vector<std::pair<std::string, std::string>>{
           {"", "tuned.json"},
           {"{}", "\"tuned\""},
           {"{\"tuned\": 3}", "\"tuned\""},
           {"{\"tuned\": [3]}", "entry 1"},
           {"{\"tuned\": [{\"field\": \"hash\", \"backend\": \"cpu\"}]}", "\"recipe\""},
           {"{\"tuned\": [{\"field\": \"hash\", \"backend\": \"cpu\", \"recipe\": \"x\", \"threads\": 0}]}",
            "\"threads\""},
           {"{\"tuned\": [{\"field\": \"hash\", \"backend\": \"cpu\", \"recipe\": \"x\", \"threads\": "
            "1e99}]}",
            "\"threads\""}}) {
    write(text);
    EXPECT_NE(refusal().find(words), std::string::npos) << text << ": " << refusal();
    EXPECT_NE(refusal().find("klab tune"), std::string::npos) << refusal();
    remember(file, some());
    EXPECT_TRUE(tuned_in(file, {}, "cpu").has_value());
  }
}

TEST(TuneText, StatesWhenTheTimeIsWonBack) {
  TuneResult result;
  result.tuned = {.threads = 1, .threads_gain = 1.5, .took = 30};
  result.threads = {{.name = "2 threads", .seconds = {3, 3}, .out = "1.50x as slow after 4 rounds"},
                    {.name = "1 thread", .seconds = {2, 2}}};
  const std::string text = tune_text(result);
  EXPECT_NE(text.find("1.50 times as fast"), std::string::npos) << text;
  EXPECT_NE(text.find("won back after 60 s"), std::string::npos) << text;  // 90 s of before in 60 s
  EXPECT_NE(text.find("chosen"), std::string::npos) << text;
  result.tuned.threads_gain = 1;
  EXPECT_NE(tune_text(result).find("not won back"), std::string::npos);
}

}  // namespace
}  // namespace klab
