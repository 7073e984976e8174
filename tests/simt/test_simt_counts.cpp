// What the executor counts, of kernels whose counts are known: simt/kernels/counted.cu, each line that says so.
//
// The file is compiled twice, as variants are (-O1) and with -O2: what a compiler does to code must not show in the counts.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "harness/core/source.h"
#include "harness/simt/modules.h"
#include "harness/simt/profile.h"
#include "harness/simt/session.h"

namespace klab {
namespace {

const std::string kSource = std::string(KLAB_SOURCE_DIR) + "/tests/simt/kernels/counted.cu";

using Numbers = std::map<std::string, int64_t>;

/// By line, what the source says.
std::map<int, Numbers> said() {
  std::map<int, Numbers> all;
  std::istringstream in(read_text(kSource));
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const size_t at = line.find("// COUNTS ");
    if (at == std::string::npos || line.starts_with("//")) continue;
    std::istringstream words(line.substr(at + 10));
    for (std::string word; words >> word;) {
      const size_t equals = word.find('=');
      all[number][word.substr(0, equals)] = std::stoll(word.substr(equals + 1));
    }
  }
  return all;
}

std::vector<std::string> names() {
  std::vector<std::string> list;
  std::istringstream in(read_text(kSource));
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("KLAB_RUN(")) list.push_back(line.substr(9, line.find(')') - 9));
  return list;
}

void add(Numbers& n, const simt::Site& s) {
  const simt::Counts c = s.merged() ? s.as_merged() : s.counts;
  n["requests"] += c.requests;
  n["lanes"] += c.lanes;
  n["sectors"] += c.sectors;
  n["ideal_sectors"] += c.ideal_sectors;
  n["lane_sectors"] += c.lane_sectors;
  n["wavefronts"] += c.wavefronts;
  n["conflicts"] += c.conflicts();
  n["collisions"] += c.collisions;
  n["merged"] += s.merged();
}

class Counted : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  /// Runs the kernel of that name once; the seed decides in which order lanes go.
  void run(uint64_t seed) {
    const auto& [module, name] = GetParam();
    static std::set<std::string> loaded;
    if (loaded.insert(module).second) simt::load_module(module, true);
    void* handle = dlopen(module.c_str(), RTLD_NOW | RTLD_NOLOAD);
    ASSERT_NE(handle, nullptr);
    auto* call = reinterpret_cast<void (*)()>(dlsym(handle, ("run_" + name).c_str()));
    ASSERT_NE(call, nullptr) << name;
    simt::Session session({.traced = true, .seed = seed});
    ASSERT_NO_THROW(call());
    for (const simt::Finding& f : session.findings()) ADD_FAILURE() << f.describe();
    lines_.clear();
    for (const simt::Site& s : session.profile().sites()) add(lines_[simt::source_of(s.pc).line], s);
    launches_ = session.profile().launches;
  }
  std::map<int, Numbers> lines_;
  std::vector<simt::LaunchRecord> launches_;
};

TEST_P(Counted, WhatItsLinesSay) {
  const std::map<int, Numbers> all = said();
  for (const uint64_t seed : {1, 2, 3}) {
    run(seed);
    size_t known = 0;
    for (const auto& [line, numbers] : lines_) {
      const auto at = all.find(line);
      if (at == all.end()) continue;
      ++known;
      for (const auto& [what, number] : at->second) {
        Numbers got = numbers;
        EXPECT_EQ(got[what], number) << what << " at line " << line << ", seed " << seed;
      }
    }
    if (std::get<1>(GetParam()) == "ticks") continue;
    EXPECT_GT(known, 0u) << "no line of this kernel says what it counts";
  }
  if (std::get<1>(GetParam()) == "external_kernel") EXPECT_EQ(launches_.at(0).static_shared, 1024u);
}

std::string name_of_test(const testing::TestParamInfo<Counted::ParamType>& info) {
  return std::get<1>(info.param) + (std::get<0>(info.param) == KLAB_COUNTED_O2 ? "_O2" : "_O1");
}
INSTANTIATE_TEST_SUITE_P(Kernels, Counted,
                         testing::Combine(testing::Values(KLAB_COUNTED_O1, KLAB_COUNTED_O2),
                                          testing::ValuesIn(names())),
                         name_of_test);

TEST(CountedKernels, EachLineIsReached) {
  EXPECT_GE(names().size(), 13u);
  EXPECT_GE(said().size(), 25u);
}

}  // namespace
}  // namespace klab
