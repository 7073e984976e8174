// Races between a CPU variant's threads are found whether or not the threads meet, and threads that are in order, by whatever means,
// are not accused.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <regex>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "harness/check/check.h"
#include "harness/check/detectors.h"
#include "harness/check/thread_races.h"
#include "harness/core/registry.h"
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
    auto* const data = reinterpret_cast<int* (*)()>(dlsym(module_, "watched_data"));
    RaceWatch watch;
    call();
    watch.read(data(), 99 * sizeof(int));
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

Variant variant_that_sums(const char* id, void* call) {
  auto* const sum = reinterpret_cast<void (*)(const float*, const float*, float*, int64_t)>(call);
  Variant v;
  v.op = "vector_add";
  v.backend = "cpu";
  v.id = id;
  v.supported = [](ShapeView, const Host&) { return std::string(); };
  v.bind = [sum](ShapeView shape, std::span<void* const> p) -> std::function<void()> {
    return [sum, n = shape[0], a = static_cast<float*>(p[0]), b = static_cast<float*>(p[1]),
            c = static_cast<float*>(p[2])] { sum(a, b, c, n); };
  };
  v.watched = v.bind;
  return v;
}

std::vector<Failure> failures_of_sum(const Variant& v) {
  const Variant* const list[] = {&v};
  return check(*find_op("vector_add"), list, {.max_failures = 1, .done = {}}).variants.front().failures;
}

TEST_F(ThreadRaces, AreLookedForWhereSeveralThreadsHaveWork) {
  const Variant v = variant_that_sums("vector_add.cpu.60_chunks", dlsym(module_, "sum_in_chunks"));
  const auto failures = failures_of_sum(v);
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures[0].fault, Fault::race) << failures[0].note;
  const Without off(Detector::thread_races);
  for (const Failure& f : failures_of_sum(v)) ADD_FAILURE() << "caught by another: " << f.note;
}

TEST_F(ThreadRaces, AThreadThatTheCallDoesNotWaitForIsLate) {
  const Variant v = variant_that_sums("vector_add.cpu.60_detached", dlsym(module_, "sum_detached"));
  const Without off(Detector::threads_that_stay);  // sees it by chance: it ends at about the same time
  const auto failures = failures_of_sum(v);
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures[0].fault, Fault::late) << failures[0].note;
  EXPECT_NE(failures[0].note.find("by a thread that the call does not wait for"), std::string::npos)
      << failures[0].note;
  EXPECT_EQ(failures[0].tensor, "c");
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
