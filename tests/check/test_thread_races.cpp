// Races between a CPU variant's threads are found whether or not the threads meet, and threads that are in order, by whatever means,
// are not accused.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "harness/check/thread_races.h"
#include "harness/core/source.h"
#include "harness/simt/modules.h"

namespace klab {
namespace {

#ifdef KLAB_THREADS_WATCHED

std::set<std::string> named_in_file() {
  std::ifstream in(klab_home() / "tests/check/watched/threads.cpp");
  std::stringstream text;
  text << in.rdbuf();
  const std::string all = text.str();
  static const std::regex line("(RIGHT|WRONG)\\((\\w+)\\) \\{");
  std::set<std::string> names;
  for (std::sregex_iterator at(all.begin(), all.end(), line), end; at != end; ++at)
    names.insert(((*at)[1] == "RIGHT" ? "right_" : "wrong_") + (*at)[2].str());
  return names;
}

class ThreadRaces : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!races_are_watched()) return;
    simt::load_module(KLAB_THREADS_WATCHED, false);
    module_ = dlopen(KLAB_THREADS_WATCHED, RTLD_NOW | RTLD_NOLOAD);
  }
  void SetUp() override {
    if (!races_are_watched()) GTEST_SKIP() << why_races_are_not_watched();
    ASSERT_NE(module_, nullptr);
  }
  static std::optional<ThreadRace> watched(const std::string& name) {
    auto* const call = reinterpret_cast<void (*)()>(dlsym(module_, name.c_str()));
    EXPECT_NE(call, nullptr) << name;
    const RaceWatch watch;
    call();
    return watch.first();
  }
  static inline void* module_ = nullptr;
};

TEST_F(ThreadRaces, AreFoundAndOrderIsNotAccused) {
  int right = 0, wrong = 0;
  for (int round = 0; round < 5; ++round) {
    for (const std::string& name : named_in_file()) {
      const auto race = watched(name);
      if (name.starts_with("wrong_")) {
        ++wrong;
        EXPECT_TRUE(race) << name;
        continue;
      }
      ++right;
      if (race)
        ADD_FAILURE() << name << ": lines " << simt::source_of(race->earlier.pc).line << " and "
                      << simt::source_of(race->later.pc).line;
    }
  }
  EXPECT_GE(right, 20 * 5);
  EXPECT_GE(wrong, 12 * 5);
}

TEST_F(ThreadRaces, NameBothLines) {
  const auto race = watched("wrong_read_before_join");
  ASSERT_TRUE(race);
  EXPECT_NE(race->earlier.write, race->later.write);
  EXPECT_EQ(race->bytes, 4);
  const auto one = simt::source_of(race->earlier.pc), two = simt::source_of(race->later.pc);
  EXPECT_NE(one.file.find("watched/threads.cpp"), std::string::npos) << one.file;
  EXPECT_EQ(std::abs(one.line - two.line), 1);
}

#endif

}  // namespace
}  // namespace klab
