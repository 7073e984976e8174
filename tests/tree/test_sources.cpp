// Rules for every source file in every room: no path of one machine, no measured figure, a length that can be
// read, one type a name, and scripts whose checks cannot fail by chance.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "harness/core/source.h"
#include "tests/tree/files.h"

namespace klab {
namespace {
namespace fs = std::filesystem;
using tree::code_files;
using tree::files_under;
using tree::root;

/// Files over this many lines need a reason here.
constexpr size_t longest_file = 600;
const std::map<std::string, std::string> long_files = {
    {"harness/timing/ceiling_kernels.cpp",
     "one short loop for each ceiling, all compiled for each instruction set"}};

TEST(Sources, NoPathsOfOneMachine) {
  static const std::regex absolute(R"re(["'\s(=](/(home|root|work|Users|tmp/[A-Za-z])[/A-Za-z0-9_.-]*))re");
  auto files = code_files();
  for (const std::string& more : files_under({"labs", "cmake"}, {".md", ".cmake", ".txt", ".in"}))
    files.push_back(more);
  for (const std::string& file : files) {
    if (file == "tests/tree/test_sources.cpp") continue;
    const std::string text = read_text(root / file);
    std::smatch m;
    EXPECT_FALSE(std::regex_search(text, m, absolute)) << file << " names " << m[1];
  }
}

/// Measured numbers live in recorded runs. A unit of speed right behind a number gives one away; published
/// figures carry their source on the same line.
TEST(Sources, NoMeasuredFiguresInSources) {
  static const std::regex speed(
      R"re([0-9][0-9.,]*\s?(GB/s|MB/s|GiB/s|[GMT]FLOPS?\b|[GMT]FLOP/s|[GMT]flops?/s))re");
  static const std::regex reasoned(R"re(https?://|\bthat is\b|[·×=])re");
  auto files = files_under({"kernels"}, {".cpp", ".h", ".cu", ".cuh"});
  for (const std::string& page : files_under({"labs"}, {".md"})) files.push_back(page);
  for (const std::string& file : files) {
    std::istringstream in(read_text(root / file));
    int number = 0;
    for (std::string line; std::getline(in, line);) {
      ++number;
      std::smatch m;
      if (!std::regex_search(line, m, speed)) continue;
      EXPECT_TRUE(std::regex_search(line, reasoned))
          << file << ":" << number << " states " << m[0] << "; measured figures belong into recorded runs";
    }
  }
}

TEST(Sources, FilesCanBeReadInOneSitting) {
  for (const std::string& file : code_files()) {
    const std::string text = read_text(root / file);
    const auto lines = size_t(std::count(text.begin(), text.end(), '\n'));
    if (lines <= longest_file) continue;
    EXPECT_EQ(long_files.count(file), 1U) << file << " has " << lines << " lines; split it";
  }
  for (const auto& [file, reason] : long_files) {
    EXPECT_TRUE(fs::exists(root / file)) << file;
    EXPECT_FALSE(reason.empty()) << file;
  }
}

/// Two types of one name in one namespace, in headers that no file includes together, compile and link; then
/// the linker uses the inline functions of whichever it met first for both.
TEST(Sources, OneNameIsOneType) {
  std::map<std::string, std::set<std::string>> where;
  for (const std::string& file : files_under({"harness", "reference", "labs"}, {".h"})) {
    if (file.starts_with("harness/simt/"))
      continue;  // stands in for CUDA's own headers, one form a compilation
    std::vector<std::string> spaces;
    std::ifstream in(root / file);
    for (std::string line; std::getline(in, line);) {
      std::smatch found;
      if (std::regex_search(line, found, std::regex(R"(^namespace ([\w:]+) \{)")))
        spaces.push_back(found[1]);
      else if (line.starts_with("}  // namespace") && !spaces.empty())
        spaces.pop_back();
      else if (std::regex_search(line, found, std::regex(R"(^(?:struct|class|enum class) (\w+)\b[^;]*$)"))) {
        std::string name;
        for (const std::string& space : spaces) name += space + "::";
        where[name + found[1].str()].insert(file);
      }
    }
  }
  EXPECT_GT(where.size(), 50U);
  for (const auto& [name, files] : where)
    EXPECT_EQ(files.size(), 1U) << name << " in " << *files.begin() << " and " << *files.rbegin();
}

/// Returns the class whose member a line begins to define; "" if it begins none.
std::string class_of_member(const std::string& line) {
  static const std::regex member(
      R"(^(?:[^\s/#(=][^(=]*[\s&*])?(?:\w+::)*([A-Z]\w*)::(?:~?\w+|operator[^(]*)\()");
  std::smatch found;
  const bool may_be = !line.empty() && line[0] != ' ' && line.find("::") != std::string::npos;
  return may_be && std::regex_search(line, found, member) ? found[1].str() : "";
}

TEST(Sources, FindsMembers) {
  EXPECT_EQ(class_of_member("void Trace::settle() {"), "Trace");
  EXPECT_EQ(class_of_member("AsyncOrder::Moment TraceOrder::now() const {"), "TraceOrder");
  EXPECT_EQ(class_of_member("std::string TraceFind::who(uint32_t interval) const {"), "TraceFind");
  EXPECT_EQ(class_of_member("Fibers::~Fibers() {"), "Fibers");
  EXPECT_EQ(class_of_member("[[gnu::always_inline]] inline bool TraceCheck::seen_quickly(Cell& c,"),
            "TraceCheck");
  EXPECT_EQ(class_of_member("uint64_t seed() { return Session::current().seed(); }"), "");
  EXPECT_EQ(class_of_member("  Session::current();"), "");
  EXPECT_EQ(class_of_member("std::string text(int x) {"), "");
}

/// A class is read in one header and one source. One that needs more than that is several classes.
TEST(Sources, AClassLivesInOneSource) {
  std::map<std::string, std::set<std::string>> where;
  for (const std::string& file : files_under({"harness"}, {".cpp"})) {
    const std::string room = fs::path(file).parent_path().string();
    std::istringstream in(read_text(root / file));
    for (std::string line; std::getline(in, line);)
      if (const std::string name = class_of_member(line); !name.empty())
        where[room + " " + name].insert(file);
  }
  EXPECT_GT(where.size(), 50U);
  for (const auto& [name, files] : where)
    EXPECT_EQ(files.size(), 1U) << name << " is defined in " << files.size() << " sources, one of them "
                                << *files.begin();
}

/// `program | grep -q word` under pipefail fails whenever grep has found its word before the program has written its last line:
/// the program ends by SIGPIPE then. Scripts write to a file, or give grep the text by `<<<`.
TEST(Sources, NoScriptPipesIntoAGrepThatExitsEarly) {
  static const std::regex early(R"re(\|\s*grep\s+-[a-zA-Z]*[qm])re");
  auto scripts = files_under({"tests", "reports", "examples", "labs"}, {".sh"});
  scripts.push_back("klab");
  EXPECT_GT(scripts.size(), 15U);
  for (const std::string& file : scripts) {
    std::istringstream in(read_text(root / file));
    int number = 0;
    for (std::string line; std::getline(in, line);) {
      ++number;
      EXPECT_FALSE(std::regex_search(line, early)) << file << ":" << number << ": " << line;
    }
  }
}

}  // namespace
}  // namespace klab
