// What `klab check --remember` leaves out, and what makes it check again.
#include "harness/cli/check_memory.h"

#include <gtest/gtest.h>
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>

#include "harness/core/registry.h"
#include "harness/core/source.h"
#include "harness/step/process.h"

namespace klab {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

void write_text(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

/// A build folder of two variants; the first calls what a third object defines.
class SmallBuild : public testing::Test {
 protected:
  void SetUp() override {
    compile("kernels/op/cpu/00_naive.cpp", "int shared(int); int naive(int x) { return shared(x) + 1; }");
    compile("kernels/op/cpu/01_fast.cpp", "int fast(int x) { return x + 1; }");
    compile("room/shared.cpp", "int shared(int x) { return 3 * x; }");
    linked_ = fs::last_write_time(object("room/shared.cpp")) + seconds(1);
  }
  fs::path object(const std::string& source) const {
    return folder_.path() / "CMakeFiles" / "klab.dir" / (source + ".o");
  }
  void compile(const std::string& source, const std::string& text) const {
    const fs::path file = folder_.path() / "source.cpp";
    write_text(file, text + "\n");
    fs::create_directories(object(source).parent_path());
    const auto ended = run_process(
        {"/usr/bin/env", "c++", "-O2", "-g1", "-c", file.string(), "-o", object(source).string()}, {});
    ASSERT_TRUE(ended.good()) << ended.words;
  }
  std::string digest(const std::string& part = "/kernels/op/cpu/00_naive.cpp.o") const {
    const std::vector<std::string> parts = {part};
    return LinkedObjects(folder_.path()).digest(parts, [this](const std::string&) { return linked_; });
  }
  ScratchFolder folder_;
  fs::file_time_type linked_;
};

TEST_F(SmallBuild, ChangesWithAVariantsCode) {
  const std::string before = digest();
  ASSERT_EQ(before.size(), 64U);
  compile("kernels/op/cpu/00_naive.cpp", "int shared(int); int naive(int x) { return shared(x) + 2; }");
  linked_ += seconds(60);
  EXPECT_NE(digest(), before);
}

TEST_F(SmallBuild, ChangesWithTheCodeThatAVariantCalls) {
  const std::string before = digest();
  compile("room/shared.cpp", "int shared(int x) { return 5 * x; }");
  linked_ += seconds(60);
  EXPECT_NE(digest(), before);
}

TEST_F(SmallBuild, ChangesWithConstants) {
  const std::string text = "extern const char table[]; const char table[] = ";
  compile("room/shared.cpp", text + "\"a\"; int shared(int x) { return table[x]; }");
  linked_ += seconds(60);
  const std::string before = digest();
  compile("room/shared.cpp", text + "\"b\"; int shared(int x) { return table[x]; }");
  linked_ += seconds(60);
  EXPECT_NE(digest(), before);
}

TEST_F(SmallBuild, StaysForCommentsAndForCodeThatIsNotCalled) {
  const std::string before = digest();
  compile("kernels/op/cpu/00_naive.cpp",
          "// A comment moves the lines.\n\nint shared(int);\nint naive(int x) { return shared(x) + 1; }");
  compile("kernels/op/cpu/01_fast.cpp", "int fast(int x) { return x + 2; }");
  linked_ += seconds(60);
  EXPECT_EQ(digest(), before);
}

TEST_F(SmallBuild, DoesNotKnowAProgramOlderThanItsObjects) {
  linked_ = fs::last_write_time(object("room/shared.cpp")) - seconds(1);
  EXPECT_EQ(digest(), "");
  EXPECT_EQ(digest("/kernels/op/cpu/02_absent.cpp.o"), "");
}

TEST_F(SmallBuild, NoticesAnObjectReplacedMeanwhile) {
  LinkedObjects objects(folder_.path());
  const std::vector<std::string> parts = {"/kernels/op/"};
  const auto linked = [this](const std::string&) { return linked_ + seconds(60); };
  ASSERT_NE(objects.digest(parts, linked), "");
  fs::last_write_time(object("kernels/op/cpu/01_fast.cpp"), linked_ + seconds(2));
  EXPECT_EQ(objects.digest(parts, linked), "");
}

TEST(LinkedObjects, ReadsAnObjectThatIsCutOffAsBytes) {
  std::vector<std::string> defines, needs;
  const std::string own = read_text(own_program());
  const std::string cut = own.substr(0, 4096), other = cut.substr(0, 4095) + "!";
  EXPECT_NE(digest_of_object(cut, defines, needs), digest_of_object(other, defines, needs));
  EXPECT_TRUE(needs.empty());
}

class Passed : public testing::Test {
 protected:
  fs::path file() const { return folder_.path() / "cache" / "passed.json"; }
  ScratchFolder folder_;
};

TEST_F(Passed, KeepsFromRunToRun) {
  PassedChecks(file()).add("a", {3, 1});
  EXPECT_EQ(PassedChecks(file()).find("a"), (PassedCheck{3, 1}));
  EXPECT_FALSE(PassedChecks(file()).find("b"));
  PassedChecks(file()).forget("a");
  EXPECT_FALSE(PassedChecks(file()).find("a"));
}

TEST_F(Passed, TakesADamagedFileAsEmptyAndReplacesIt) {
  for (const char* text :
       {"", "{", "[[\"a\", 3", "{\"a\": 1}", "[[\"a\"]]", "[[\"a\", \"3\", 1]]", "[1]", "\xff\xfe"}) {
    write_text(file(), text);
    PassedChecks checks(file());
    EXPECT_FALSE(checks.find("a")) << text;
    checks.add("b", {1, 0});
    EXPECT_EQ(checks.problem(), "");
    EXPECT_TRUE(PassedChecks(file()).find("b")) << text;
  }
}

TEST_F(Passed, KeepsWhatTwoProcessesWriteAtOnce) {
  constexpr int kEach = 40;
  std::array<pid_t, 2> children{};
  for (int p = 0; p < 2; ++p) {
    children[size_t(p)] = fork();
    if (children[size_t(p)] != 0) continue;
    PassedChecks checks(file());
    for (int i = 0; i < kEach; ++i) checks.add(std::to_string(p * kEach + i), {1, 0});
    _exit(checks.problem().empty() ? 0 : 1);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  const PassedChecks all(file());
  for (int i = 0; i < 2 * kEach; ++i) EXPECT_TRUE(all.find(std::to_string(i))) << i;
}

TEST_F(Passed, SaysWhyNothingCanBeKept) {
  write_text(folder_.path() / "file", "");
  PassedChecks checks(folder_.path() / "file" / "klab" / "passed.json");
  checks.add("a", {1, 0});
  EXPECT_TRUE(checks.find("a")) << "for this process";
  EXPECT_NE(checks.problem().find("passed.json"), std::string::npos) << checks.problem();
  PassedChecks nowhere{fs::path()};
  nowhere.add("a", {1, 0});
  EXPECT_NE(nowhere.problem(), "");
}

class Memory : public Passed {
 protected:
  void SetUp() override {
    selected_ = select(std::vector<std::string>{"vector_add.cpu"}).front();
    ASSERT_GE(selected_.variants.size(), 2U);
    for (const Variant* v : selected_.variants) passed_.variants.push_back({.variant = v->id, .cases = 5});
    failed_ = passed_;
    failed_.variants.back().failures.emplace_back();
  }
  /// One run of `klab check --remember`: whether the op was left out; else the check ends with these results.
  bool left_out(const OpCheck& results, bool again = false) {
    CheckMemory memory(
        file(), [this](const Selected&) { return code_; }, options_, again);
    if (memory.passed_before(selected_)) return memory.variants() == int(passed_.variants.size());
    memory.keep(selected_, results);
    EXPECT_EQ(memory.variants(), 0);
    return false;
  }
  Selected selected_;
  OpCheck passed_, failed_;
  std::string code_ = "code";
  CheckOptions options_{.done = {}};
};

TEST_F(Memory, LeavesOutWhatPassed) {
  EXPECT_FALSE(left_out(passed_));
  EXPECT_TRUE(left_out(passed_));
}

TEST_F(Memory, ChecksAgainWhenTheCodeChanged) {
  left_out(passed_);
  code_ = "changed";
  EXPECT_FALSE(left_out(passed_));
  EXPECT_TRUE(left_out(passed_));
  code_ = "code";
  EXPECT_TRUE(left_out(passed_)) << "two builds take turns";
}

TEST_F(Memory, ChecksAgainWithOtherOptions) {
  left_out(passed_);
  const CheckOptions before = options_;
  options_.seed = 2;
  EXPECT_FALSE(left_out(passed_));
  options_ = before;
  options_.quick = true;
  EXPECT_FALSE(left_out(passed_));
  options_ = before;
  options_.shape = {7};
  EXPECT_FALSE(left_out(passed_));
  options_ = before;
  const int threads = omp_get_max_threads();
  omp_set_num_threads(threads + 1);
  EXPECT_FALSE(left_out(passed_));
  omp_set_num_threads(threads);
  EXPECT_TRUE(left_out(passed_));
}

TEST_F(Memory, ChecksAgainWithOtherVariants) {
  left_out(passed_);
  selected_.variants.pop_back();
  EXPECT_FALSE(left_out(passed_)) << "their tiles give the shapes";
}

TEST_F(Memory, NeverRemembersAFailure) {
  EXPECT_FALSE(left_out(failed_));
  EXPECT_FALSE(left_out(failed_));
  EXPECT_FALSE(left_out(passed_));
  EXPECT_TRUE(left_out(passed_));
  EXPECT_FALSE(left_out(failed_, true)) << "--again";
  EXPECT_FALSE(left_out(passed_)) << "it failed since it passed";
}

TEST_F(Memory, CountsAFailureOfTheReference) {
  OpCheck results = passed_;
  results.reference = failed_.variants.back();
  EXPECT_FALSE(left_out(results));
  EXPECT_FALSE(left_out(passed_));
}

TEST_F(Memory, ForgetsOnRequestAndRemembersTheNewResult) {
  left_out(passed_);
  EXPECT_FALSE(left_out(passed_, true));
  EXPECT_TRUE(left_out(passed_));
}

TEST_F(Memory, RemembersNothingOfUnknownCode) {
  code_ = "";
  EXPECT_FALSE(left_out(passed_));
  EXPECT_FALSE(left_out(passed_));
}

/// What the program prints, with what it writes to standard error, and its exit code.
std::pair<std::string, int> check_says(const fs::path& cache, const std::string& options,
                                       const std::string& variables = "") {
  const std::string command =
      variables + " XDG_CACHE_HOME=" + cache.string() + " " KLAB_PROGRAM " check " + options + " 2>&1";
  std::FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  std::array<char, 4096> part{};
  for (size_t n = 0; (n = std::fread(part.data(), 1, part.size(), pipe)) > 0;) text.append(part.data(), n);
  return {text, WEXITSTATUS(pclose(pipe))};
}

TEST(CheckRemember, SaysWhatPassedBefore) {
  const ScratchFolder folder;
  const std::string op = "vector_add.cpu --shape=7 ";
  const auto has = [](const std::string& text, const std::string& word) {
    return text.find(word) != std::string::npos;
  };
  const auto run = [&](const std::string& options, const std::string& word, bool wanted) {
    const auto [text, code] = check_says(folder.path(), op + options);
    EXPECT_EQ(code, 0) << text;
    EXPECT_EQ(has(text, word), wanted) << options << "\n" << text;
  };
  run("", "passed before", false);
  run("--remember", "passed before", false);
  run("--remember", "0 checked", true);
  run("--remember", "variants (--again forgets)", true);
  run("--remember --json", "\"passed_before\"", true);
  run("--remember --seed 2", "passed before", false);
  run("--remember --threads 1", "passed before", false);
  run("--remember --again", "passed before", false);
  run("", "0 checked", false);
}

TEST(CheckRemember, ChecksWhereNothingCanBeWritten) {
  const auto [text, code] = check_says("/proc/1", "vector_add.cpu --shape=7 --remember");
  EXPECT_EQ(code, 0) << text;
  EXPECT_NE(text.find("klab: what passed is not remembered: /proc/1/klab"), std::string::npos) << text;
}

TEST(CheckWatched, RefusesAModuleThatIsMissingAndBlamesNoVariant) {
  const ScratchFolder folder;
  const auto [text, code] =
      check_says(folder.path(), "vector_add.cpu --shape=7", "KLAB_WATCHED_RUNGS=/none/rungs.so");
  EXPECT_EQ(code, 2) << text;
  EXPECT_NE(text.find("KLAB_WATCHED_RUNGS: cannot load /none/rungs.so"), std::string::npos) << text;
  EXPECT_EQ(text.find("vector_add.cpu"), std::string::npos) << text;
}

TEST(CheckRemember, RefusesWhatItCannotKnow) {
  const ScratchFolder folder;
  EXPECT_EQ(check_says(folder.path(), "vector_add --remember --backend cuda").second, 2);
  const auto [text, code] = check_says(folder.path(), "vector_add --again");
  EXPECT_EQ(code, 2);
  EXPECT_NE(text.find("--again goes with --remember"), std::string::npos) << text;
}

}  // namespace
}  // namespace klab
