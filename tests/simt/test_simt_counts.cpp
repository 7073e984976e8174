// The executor's counts for kernels whose counts are known: each annotated line of simt/kernels/counted.cu.
//
// The file is compiled twice, as variants are (-O1) and with -O2: the compiler's optimizations must not
// change the counts.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

#include "harness/core/source.h"
#include "harness/simt/modules.h"
#include "harness/simt/profile.h"
#include "harness/simt/session.h"

namespace klab {
namespace {

const std::string kSource = std::string(KLAB_SOURCE_DIR) + "/tests/simt/kernels/counted.cu";

using Numbers = std::map<std::string, int64_t>;

/// The numbers in the source's comments, by line.
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
  n["returns"] += s.returns;
}

struct Counting {
  std::map<int, Numbers> lines;
  std::vector<simt::LaunchRecord> launches;
};

/// Runs the kernel of that name once; the seed decides in which order lanes go.
Counting run_simt_counts(const std::string& module, const std::string& name, uint64_t seed) {
  static std::set<std::string> loaded;
  if (loaded.insert(module).second) simt::load_module(module, true);
  void* handle = dlopen(module.c_str(), RTLD_NOW | RTLD_NOLOAD);
  auto* call = handle ? reinterpret_cast<void (*)()>(dlsym(handle, ("run_" + name).c_str())) : nullptr;
  if (call == nullptr) throw std::runtime_error(module + " has no run_" + name);
  simt::Session session({.traced = true, .seed = seed});
  call();
  for (const simt::Finding& f : session.findings()) ADD_FAILURE() << f.describe();
  Counting result;
  for (const simt::Site& s : session.profile().sites()) add(result.lines[simt::source_of(s.pc).line], s);
  result.launches = session.profile().launches;
  return result;
}

class Counted : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(Counted, MatchesTheNumbersInItsComments) {
  const auto& [module, name] = GetParam();
  const std::map<int, Numbers> all = said();
  for (const uint64_t seed : {1, 2, 3}) {
    Counting once = run_simt_counts(module, name, seed);
    for (auto& [line, numbers] : once.lines) {
      const auto at = all.find(line);
      if (at == all.end()) continue;
      for (const auto& [what, number] : at->second)
        EXPECT_EQ(numbers[what], number) << what << " at line " << line << ", seed " << seed;
    }
    if (name == "external_kernel") EXPECT_EQ(once.launches.at(0).static_shared, 1024u);
  }
}

std::string name_of_test(const testing::TestParamInfo<Counted::ParamType>& info) {
  return std::get<1>(info.param) + (std::get<0>(info.param) == KLAB_COUNTED_O2 ? "_O2" : "_O1");
}
INSTANTIATE_TEST_SUITE_P(Kernels, Counted,
                         testing::Combine(testing::Values(KLAB_COUNTED_O1, KLAB_COUNTED_O2),
                                          testing::ValuesIn(names())),
                         name_of_test);

// An annotated line that is not reached would test nothing.
TEST(CountedKernels, ReachEveryLineWithANumber) {
  const std::map<int, Numbers> all = said();
  ASSERT_FALSE(all.empty());
  for (const std::string module : {KLAB_COUNTED_O1, KLAB_COUNTED_O2}) {
    std::set<int> reached;
    for (const std::string& name : names())
      for (const auto& [line, numbers] : run_simt_counts(module, name, 1).lines) reached.insert(line);
    for (const auto& [line, numbers] : all)
      EXPECT_TRUE(reached.contains(line)) << "line " << line << ", " << module;
  }
}

}  // namespace
}  // namespace klab
