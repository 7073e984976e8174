// The account of memory: sizes in words, the plan, reductions to fit, owners; pictures in rotation.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "labs/radiance/run/budget.h"
#include "tests/radiance/scene_folder.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

TEST(Bytes, AreReadWithTheirUnit) {
  EXPECT_EQ(bytes_from("4GB"), 4'000'000'000);
  EXPECT_EQ(bytes_from("1.5GiB"), 1610612736);
  EXPECT_EQ(bytes_from("800 mb"), 800'000'000);
  EXPECT_EQ(bytes_from("2000KiB"), 2048000);
  for (const char* bad :
       {"", "4", "GB", "-4GB", "4 G", "4GBs", "nanGB", "1e3MB", "0GB", "0.5MB", "2000TB", "4,5GB", "1.2.3GB"})
    EXPECT_THROW(bytes_from(bad), std::invalid_argument) << bad;
}

TEST(Owners, CountTowardsTheInnermost) {
  const auto now = [](const char* who) { return memory_by_owner()[who].now; };
  const int64_t before = now("one of a test");
  {
    const MemoryOwner outer("one of a test");
    Array<float> a(1 << 20);
    const int64_t has = now("one of a test") - before;
    EXPECT_GE(has, 4 << 20);
    {
      const MemoryOwner inner("another of a test");
      a = Array<float>(1 << 20);  // the old one is given back by whom it was counted for
    }
    EXPECT_EQ(now("one of a test"), before);
    EXPECT_GE(now("another of a test"), 4 << 20);
    EXPECT_GE(memory_by_owner()["one of a test"].peak, before + has);
  }
  EXPECT_EQ(now("another of a test"), 0);
}

class Fitted : public SceneFolder {
 protected:
  void SetUp() override {
    SceneFolder::SetUp();
    for (int i = 4; i < 40; ++i) {
      const std::string name = "view_" + std::to_string(i);
      picture(name + ".png", 640, 480, 4);
      document["frames"].push_back({{"file_path", "./" + name}, {"transform_matrix", pose(float(i))}});
    }
    write();
    scene = load_scene(path.string(), {.pictures = SceneOptions::Pictures::on_disk});
    facts.scene = &scene;
    facts.program = 40'000'000;
    facts.timed = training_calls(wanted.config, 1);
  }
  MemoryPlan fit(int64_t bytes) const { return fit_memory(facts, wanted, {bytes, "--memory"}); }

  Scene scene;
  MemoryFacts facts;
  MemoryChoice wanted;
};

TEST_F(Fitted, PicturesStayOnDiskUntilNeeded) {
  ASSERT_EQ(scene.train.size(), 35U);
  for (const View& v : scene.train) EXPECT_TRUE(v.image.rgba.empty());
  const Scene whole = load();
  load_pictures(scene.train);
  for (size_t i = 0; i < scene.train.size(); ++i)
    EXPECT_EQ(scene.train[i].image.rgba, whole.train[i].image.rgba);
}

// From more than enough down to nothing: the choice fits and never grows, and where nothing fits the message
// tells what would.
TEST_F(Fitted, TheChoiceFitsTheBudget) {
  const int64_t all = memory_account(facts, wanted).total();
  EXPECT_EQ(fit(all).smaller.size(), 0U);
  EXPECT_GT(fit(all - 1).smaller.size(), 0U);
  MemoryPlan last = fit(all);
  std::set<std::string> words;
  int64_t budget = all, steps = 0;
  try {
    for (; budget > 0; budget -= all / 100, ++steps) {
      const MemoryPlan plan = fit(budget);
      EXPECT_LE(plan.account.total(), budget);
      EXPECT_EQ(plan.account.total(), memory_account(facts, plan.choice).total());
      EXPECT_LE(plan.choice.config.log2_table, last.choice.config.log2_table) << budget;
      for (const std::string& s : plan.smaller) words.insert(s.substr(0, s.find(' ')));
      last = plan;
    }
    FAIL() << "fits into nothing";
  } catch (const std::runtime_error& e) {
    const std::string message = e.what();
    EXPECT_GT(steps, 20);
    EXPECT_NE(message.find("--memory " + bytes_text(budget)), std::string::npos) << message;
    EXPECT_NE(message.find("at least"), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    const size_t at = message.find("takes ") + 6;
    const int64_t least =
        bytes_from(message.substr(at, message.find(" at least") - at)) + 500'000;  // as it was rounded
    EXPECT_NO_THROW(fit(least)) << message;
    EXPECT_THROW(fit(least - 2'000'000), std::runtime_error) << message;
  }
  EXPECT_TRUE(words.contains("no") && words.contains("batch") && words.contains("log2_table"))
      << words.size();
}

// Rungs that are timed cold need no memory of the last-level cache's size: their copies are the first to go.
TEST_F(Fitted, CopiesForColdTimingAreGivenUpFirst) {
  wanted.config = small_config();
  wanted.ceilings = false;
  facts.timed = {{"hashgrid_fwd", {4096, 3, 16, 2, 20, 16, 512, 1}, "4096 samples", 1}};
  wanted.cold = kMostColdBytes;
  const int64_t all = memory_account(facts, wanted).total();
  MemoryChoice without = wanted;
  without.cold = 0;
  const int64_t fewer = memory_account(facts, without).total();
  ASSERT_LT(fewer, all) << "the tables are larger than a second cache";
  EXPECT_LE(all - fewer, kMostColdBytes) << "whatever the last-level cache's size";
  EXPECT_EQ(fit(all).choice.cold, kMostColdBytes);
  const MemoryPlan plan = fit(all - 1);
  EXPECT_EQ(plan.choice.cold, 0);
  EXPECT_EQ(plan.choice.config.batch_samples, wanted.config.batch_samples);
  EXPECT_EQ(plan.smaller, std::vector<std::string>{"rungs timed cold on one copy of their operands"});
  EXPECT_EQ(fit(fewer).choice.cold, 0);
  EXPECT_EQ(fit(fewer).smaller.size(), 1U);
}

TEST_F(Fitted, CopiesForColdTimingStayWhereTheyAreFree) {
  const MemoryPlan plan = fit(memory_account(facts, wanted).total() - 1);
  EXPECT_FALSE(plan.choice.ceilings);
  EXPECT_EQ(plan.choice.cold, wanted.cold) << "the trainer takes more than they do, and later";
}

TEST(Cold, HasAnEighthOfTheBudget) {
  EXPECT_EQ(cold_share({400'000'000, "--memory"}), 50'000'000);
  EXPECT_EQ(cold_share({int64_t(1) << 62, "what is free"}), kMostColdBytes);
}

TEST_F(Fitted, KeepsTheTableOfAResumedRun) {
  facts.resumed = 100'000'000;
  int64_t budget = memory_account(facts, wanted).total();
  try {
    for (;; budget -= 5'000'000) EXPECT_EQ(fit(budget).choice.config.log2_table, wanted.config.log2_table);
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find("new run"), std::string::npos) << e.what();
  }
}

// The trainer's arrays take the planned memory: not more, and not much less.
TEST(Account, MatchesTheTrainersMemory) {
  const Config config = small_config();
  MemoryFacts facts{.scene = &small_scene()};
  const MemoryAccount account = memory_account(facts, {.config = config});
  forget_memory_peaks();
  const Trainer trainer(small_scene(), config, small_plan("naive"), 1);
  const auto owned = memory_by_owner();
  constexpr int64_t page = 2 << 20, arrays = 64;  // each array is rounded up to whole pages
  for (const char* owner : {"table", "optimizer", "grid"}) {
    EXPECT_GT(owned.at(owner).now, 0) << owner;
    EXPECT_LE(owned.at(owner).now, account.of(owner) + arrays * page) << owner;
  }
  EXPECT_LE(trainer.batch_samples(), config.batch_samples);
}

TEST(Account, IncludesTheRoomForLoads) {
  MemoryFacts facts{.scene = &small_scene()};
  const MemoryAccount without = memory_account(facts, {.config = small_config()});
  facts.load_room = 16 << 20;
  const MemoryAccount with = memory_account(facts, {.config = small_config()});
  EXPECT_EQ(with.of("pictures") - without.of("pictures"), 16 << 20);
  EXPECT_EQ(with.total() - without.total(), 16 << 20);
}

class Pool : public SceneFolder {
 protected:
  void SetUp() override {
    SceneFolder::SetUp();
    for (int i = 4; i < 12; ++i) {
      const std::string name = "view_" + std::to_string(i);
      picture(name + ".png", 16, 12, 3 + i % 2);
      document["frames"].push_back({{"file_path", "./" + name}, {"transform_matrix", pose(float(i))}});
    }
    write();
    scene = load_scene(path.string(), {.holdout = 0, .pictures = SceneOptions::Pictures::on_disk});
  }
  /// Expects that the resident pictures are those of `places`.
  void expect_pictures(const PicturePool& pool) const {
    std::set<int64_t> views, pixels;
    for (const auto& place : pool.places()) {
      const Image image = scene.train[size_t(place.view)].picture();
      EXPECT_TRUE(std::equal(image.rgba.begin(), image.rgba.end(), pool.pixels() + 4 * place.first_pixel))
          << place.view;
      views.insert(place.view);
      pixels.insert(place.first_pixel);
    }
    EXPECT_EQ(views.size(), pool.places().size());
    EXPECT_EQ(pixels.size(), pool.places().size());
  }
  Scene scene;
};

TEST_F(Pool, ShufflesEveryPass) {
  ASSERT_EQ(scene.train.size(), 12U);
  for (const bool cached : {false, true}) {
    PicturePool::Options options{.resident = 5, .ahead = 3, .workers = 2, .seed = 9};
    if (cached) options.cache = path;
    PicturePool pool(scene.train, options);
    std::map<int64_t, int> seen;
    for (int turn = 0; turn < 36; ++turn) {
      expect_pictures(pool);
      for (const auto& place : pool.places()) ++seen[place.view];
      if (turn == 17) {
        // One that begins there has the same pictures in the same places.
        const PicturePool later(scene.train, options, turn);
        for (size_t i = 0; i < pool.places().size(); ++i)
          EXPECT_EQ(pool.places()[i].view, later.places()[i].view);
      }
      pool.turn();
    }
    for (const auto& [view, times] : seen) EXPECT_EQ(times, 15) << view;  // 36 turns, 5 of 12 at a time
    EXPECT_EQ(seen.size(), 12U);
    EXPECT_EQ(pool.from_cache() > 0, cached);
  }
  for (const auto& entry : fs::directory_iterator(path))
    EXPECT_FALSE(entry.path().filename().string().starts_with(".")) << entry;
}

TEST_F(Pool, PlacesTheNextPictureBeforeItsTurn) {
  PicturePool pool(scene.train, {.resident = 4, .ahead = 2, .seed = 3});
  for (int turn = 0; turn < 15; ++turn) {
    std::optional<PicturePool::Place> next;
    while (!next) next = pool.coming(pool.turns());
    const Image image = scene.train[size_t(next->view)].picture();
    EXPECT_TRUE(std::equal(image.rgba.begin(), image.rgba.end(), pool.pixels() + 4 * next->first_pixel));
    for (const auto& place : pool.places()) EXPECT_NE(place.first_pixel, next->first_pixel) << "it is in use";
    EXPECT_FALSE(pool.coming(pool.turns() + 2)) << "nobody has asked for it";
    const PicturePool::Place there = pool.places()[pool.turn()];
    EXPECT_EQ(there.view, next->view);
    EXPECT_EQ(there.first_pixel, next->first_pixel);
  }
}

TEST_F(Pool, NamesAVanishedPictureAtItsTurn) {
  PicturePool pool(scene.train, {.resident = 2, .ahead = 1});
  for (const auto& entry : fs::directory_iterator(path))
    if (entry.path().extension() == ".png") fs::remove(entry.path());
  std::string message;
  for (int turn = 0; turn < 12 && message.empty(); ++turn) try {
      pool.turn();
    } catch (const std::runtime_error& e) {
      message = e.what();
    }
  EXPECT_NE(message.find("view_"), std::string::npos) << message;
  EXPECT_FALSE(pool.coming(pool.turns())) << "whoever looks ahead is told nothing";
  // Put back, the same picture comes, and no other in its place.
  const auto before = pool.places();
  for (int i = 0; i < 12; ++i) picture("view_" + std::to_string(i) + ".png", 16, 12, 4);
  for (int turn = 0; turn < 3; ++turn) try {
      pool.turn();
    } catch (const std::runtime_error&) {  // asked for before they were back
    }
  EXPECT_NE(before[0].view + 12 * before[1].view, pool.places()[0].view + 12 * pool.places()[1].view);
}

TEST_F(Pool, TrainsAndResumes) {
  const Config config = small_config();
  const auto trained = [&](int64_t from, int64_t to, const fs::path& file) {
    PicturePool pool(scene.train, {.resident = 3, .ahead = 2}, from / PictureTurns::kEvery);
    Trainer trainer(scene, config, small_plan("naive"), 4, cpu_backend(), {}, &pool);
    if (from > 0) trainer.restore(TensorFile(file));
    for (int64_t i = from; i < to; ++i) trainer.step(0);
    trainer.save(file, {});
    return std::vector<float>(trainer.model().of(Part::table).begin(), trainer.model().of(Part::table).end());
  };
  const std::vector<float> whole = trained(0, 44, path / "whole.safetensors");
  trained(0, 20, path / "parts.safetensors");
  EXPECT_EQ(whole, trained(20, 44, path / "parts.safetensors"));
}

}  // namespace
}  // namespace klab
