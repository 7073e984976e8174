// The learner's path: every step is complete, and judgements from numbers and texts are right. Files that are
// compiled and run are in test_step_check.sh.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/check/cases.h"
#include "harness/core/select.h"
#include "harness/core/source.h"
#include "harness/step/arguments.h"
#include "harness/step/bodies.h"
#include "harness/step/compile.h"
#include "harness/step/compiler_text.h"
#include "harness/step/counts.h"
#include "harness/step/diagnose.h"
#include "harness/step/helper_calls.h"
#include "harness/step/imports.h"
#include "harness/step/lesson.h"
#include "harness/step/source_places.h"
#include "harness/step/speed.h"
#include "harness/step/step.h"
#include "harness/step/timing_size.h"
#include "harness/step/work_file.h"

namespace klab {
namespace {

const Step& some_step() { return find_step("03.02"); }

TEST(Step, EveryRungWithAParentIsOne) {
  std::set<std::string> names, files;
  size_t rungs = 0;
  for (const Variant& v : variants()) rungs += v.parent.empty() || v.peer ? 0 : 1;
  EXPECT_EQ(steps().size(), rungs);
  for (const Step& s : steps()) {
    EXPECT_TRUE(names.insert(s.name).second) << s.name;
    EXPECT_TRUE(files.insert(s.work).second) << s.work;
    EXPECT_EQ(&find_step(s.name), &s);
    EXPECT_EQ(&find_step(s.own->id), &s);
  }
  for (const Lab& lab : labs())
    if (!lab.ops.empty()) EXPECT_FALSE(steps_of(lab).empty()) << lab.id;
}

TEST(Step, TheCourseNamesEveryLab) {
  const std::string page = read_text(std::string(KLAB_SOURCE_DIR) + "/labs/README.md");
  for (const Lab& lab : labs()) EXPECT_NE(page.find(lab.id + "/README.md"), std::string::npos) << lab.id;
}

TEST(Step, EveryStepHasTextHintsAndStartingCode) {
  for (const Step& s : steps()) {
    const StepLesson lesson = lesson_of(s);
    EXPECT_FALSE(lesson.title.empty()) << s.own->id;
    EXPECT_GT(lesson.text.size(), 60U) << s.own->id;
    EXPECT_EQ(lesson.text.find("<summary>Hint"), std::string::npos) << s.own->id;
    EXPECT_GE(lesson.hints.size(), 2U)
        << s.own->id << ": its section in " << lesson_path(s.lab->id)
        << " needs <details><summary>Hint 1</summary>...</details>, and a second";
    for (const std::string& hint : lesson.hints) EXPECT_GT(hint.size(), 40U) << s.own->id;
    const std::string text = start_text(s);
    EXPECT_TRUE(text.starts_with("// Step " + s.name)) << s.own->id;
    EXPECT_NE(text.find("KLAB_VARIANT("), std::string::npos) << s.own->id;
    EXPECT_TRUE(is_unchanged(s, text)) << s.own->id;
    EXPECT_TRUE(is_unchanged(s, "// a comment\n" + text)) << s.own->id;
    EXPECT_FALSE(is_unchanged(s, work_text(s, *s.own))) << s.own->id;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line) && line.starts_with("//");)
      EXPECT_LE(line.size(), 112U) << line;
  }
}

TEST(Step, NamesTheFunctionsOfHelpersThatTheRungCalls) {
  const std::string text = start_text(find_step("14.02"));
  EXPECT_NE(text.find("\n//           exp_minus(d, x): exp(-x) for x >= 0"), std::string::npos) << text;
  EXPECT_EQ(text.find("prefix_product("), std::string::npos) << text;  // which a later rung calls
  const std::string header =
      "/// Adds. Slowly.\ntemplate <class T>\ninline T plus(const std::map<T, int>& a, T* b,\n    int by = "
      "1) {\n"
      "/// Never called.\ninline void other() {\nHWY_INLINE V bare(D) {\ninline int declared(int);\n";
  EXPECT_EQ(helper_calls(header, "plus(a, &b); bare(d); declared(1);"),
            (std::vector<std::string>{"plus(a, b, by): Adds.", "bare(D)"}));
}

/// Where a rung takes over a part of its parent, every line that is not marked stands in klab's rung, too.
TEST(Step, MarksTheLinesToChangeWhereAPartIsShared) {
  int shared = 0;
  for (const Step& s : steps()) {
    const std::string text = start_text(s), own = work_text(s, *s.own);
    for (const std::string& code : {text, own}) EXPECT_TRUE(bodies_of(code).empty()) << s.own->id;
    if (text.find("\n// LINES ") == std::string::npos) {
      EXPECT_EQ(text.find("  // ADD BELOW"), std::string::npos) << s.own->id;
      continue;
    }
    ++shared;
    EXPECT_TRUE(text.find("  // CHANGE\n") != std::string::npos ||
                text.find("  // ADD BELOW\n") != std::string::npos)
        << s.own->id << " marks no line";
    std::istringstream lines(text.substr(text.find("\n#include")));
    for (std::string line; std::getline(lines, line) && !line.starts_with("KLAB_VARIANT(");) {
      if (line.find("  // CHANGE") != std::string::npos) continue;
      line = line.substr(0, line.find("// ADD BELOW"));
      line.erase(line.find_last_not_of(' ') + 1);
      EXPECT_NE(("\n" + own).find("\n" + line + "\n"), std::string::npos) << s.own->id << " lacks: " << line;
    }
  }
  EXPECT_GT(shared, 30);
}

TEST(Step, ALearnersFileMayIncludeHelpersButNoRung) {
  EXPECT_TRUE(is_answer("/x/kernels/cast/cpu/03_simd-inl.h"));
  EXPECT_TRUE(is_answer("kernels/transpose/cuda/03_padded.cu"));
  EXPECT_TRUE(is_answer("/x/kernels/common/optimizer/02_simd-inl.h"));
  EXPECT_FALSE(is_answer("/x/kernels/common/lanes-inl.h"));
  EXPECT_FALSE(is_answer("/x/work/09_mixed_precision/04.cpp"));
}

/// With the times that klab's rung promises, its answer passes and its parent does not, wherever speed is asked for.
TEST(Step, PromisedTimesPassAndTheParentsDoNot) {
  int asked = 0;
  for (const Step& s : steps()) {
    if (s.cuda()) continue;
    const BenchShape size = timing_size(s);
    EXPECT_TRUE(s.op->op.valid(size.shape)) << s.own->id;
    const double claim = expected_at(s, size);
    StepTimes t{.size = size.name, .expected = claim};
    for (int round = 0; round < 11; ++round) {
      const double drift = 1 + 0.01 * (round % 3);
      t.parent.push_back(drift);
      t.own.push_back(drift / std::max(1.0, claim) * (0.999 - 0.002 * (round % 2)));
    }
    t.yours = t.own;
    const SpeedVerdict own = judge_times(t);
    t.yours.clear();
    for (size_t round = 0; round < t.parent.size(); ++round)
      t.yours.push_back(t.parent[round] * (1 + 0.003 * double(round % 2)));
    const SpeedVerdict parent = judge_times(t);
    if (claim < 1.05) {
      EXPECT_EQ(own.speed, Speed::not_asked) << s.own->id;
      continue;
    }
    ++asked;
    EXPECT_EQ(own.speed, Speed::enough) << s.own->id << " claims " << claim;
    EXPECT_EQ(parent.speed, Speed::none) << s.own->id;
  }
  EXPECT_GT(asked, 50);
}

TEST(Step, CountingShapesAreLegalAndSmall) {
  for (const Step& s : steps()) {
    if (!s.cuda()) continue;
    const auto shape = counting_shape(s);
    ASSERT_TRUE(s.op->op.valid(shape)) << s.own->id;
    int64_t elements = 0;
    for (const TensorSpec& t : s.op->op.tensors(shape)) elements += volume(t.dims);
    // counting_shape() aims at 2.4 million; halving one dimension at a time ends a little above it where two bind.
    EXPECT_LE(elements, 3e6) << s.own->id << " at " << shape_text(s.op->op, shape);
  }
}

/// A line is called wasteful where klab's rung does better, not where the step's nature is to scatter.
TEST(Step, IgnoresWasteThatKlabsRungNeedsToo) {
  const Step& tiles = find_step("03.cuda.02");
  EXPECT_TRUE(counts_of_step(tiles, *tiles.own, 1).at("wasteful").empty());
  EXPECT_FALSE(counts_of_step(tiles, *tiles.parent, 1).at("wasteful").empty());
  const Step& scatter = find_step("10.hashgrid_bwd.cuda.04");
  EXPECT_TRUE(counts_of_step(scatter, *scatter.own, 1).at("wasteful").empty());
}

/// `wild`: in every third round something else had the processor.
StepTimes times(double yours, double own, double expected, bool wild = false) {
  StepTimes t{.size = "", .expected = expected};
  for (int round = 0; round < 11; ++round) {
    t.parent.push_back(1);
    t.yours.push_back(wild && round % 3 == 0 ? 1.25 : 1 / yours);
    t.own.push_back(1 / own);
  }
  return t;
}

TEST(StepSpeed, RequiresHalfOfTheGain) {
  EXPECT_EQ(judge_times(times(2.1, 3, 3)).speed, Speed::enough);
  EXPECT_DOUBLE_EQ(judge_times(times(2.1, 3, 3)).asked, 2);
  EXPECT_EQ(judge_times(times(1.9, 3, 3)).speed, Speed::some);
  EXPECT_EQ(judge_times(times(1.0, 3, 3)).speed, Speed::none);
  EXPECT_EQ(judge_times(times(0.5, 3, 3)).speed, Speed::slower);
  // This machine gives klab's rung less than it claims: no more than half of that is asked.
  EXPECT_EQ(judge_times(times(1.3, 1.5, 3)).speed, Speed::enough);
  EXPECT_EQ(judge_times(times(1.0, 1.01, 3)).speed, Speed::not_asked);
  EXPECT_EQ(judge_times(times(1.0, 3, 0)).speed, Speed::not_asked);
  EXPECT_EQ(judge_times(times(2.3, 3, 3, true)).speed, Speed::undecided);
  EXPECT_NEAR(judge_times(times(1.5, 3, 3)).of_own, 0.5, 1e-12);
  // Slower where klab's rung gains nothing: the file's fault; and the machine's where klab's is as slow.
  EXPECT_EQ(judge_times(times(0.8, 1.01, 3)).speed, Speed::slower);
  EXPECT_EQ(judge_times(times(0.8, 0.8, 3)).speed, Speed::not_asked);
  EXPECT_EQ(judge_times(times(0.5, 0.8, 3)).speed, Speed::slower);
  // With other work running there is no judgement.
  StepTimes beside = times(0.8, 0.8, 3);
  beside.others = 1;
  EXPECT_EQ(judge_times(beside).speed, Speed::undecided);
}

TEST(StepSpeed, OtherSizesCountAsWell) {
  const auto judged = [](const StepTimes& there) {
    StepTimes here = times(3, 3, 3);
    here.elsewhere = {there};
    return judge_times(here).speed;
  };
  EXPECT_EQ(judged(times(1, 1, 0)), Speed::enough);
  EXPECT_EQ(judged(times(0.5, 1, 0)), Speed::slower);
  EXPECT_EQ(judged(times(0.5, 0.5, 0)), Speed::enough);  // klab's own pays there, too
  EXPECT_EQ(judged(times(1, 2, 0)), Speed::some);
  EXPECT_EQ(judged(times(1.6, 2, 0)), Speed::enough);
  EXPECT_EQ(judged(times(1, 1.2, 0)), Speed::enough);  // too little to be sure of
  EXPECT_EQ(judged({}), Speed::enough);                // none was timed
}

TEST(StepSpeed, CountsRequireTheReductionsOfKlabsRung) {
  const StepCounts parent = {{"bank conflicts", 310}, {"store sectors", 40}};
  const StepCounts own = {{"bank conflicts", 0}, {"store sectors", 40}};
  EXPECT_EQ(judge_counts(parent, own, own).speed, Speed::enough);
  EXPECT_EQ(judge_counts(parent, parent, own).speed, Speed::none);
  EXPECT_EQ(judge_counts(parent, {{"bank conflicts", 200}, {"store sectors", 40}}, own).speed, Speed::some);
  EXPECT_EQ(judge_counts(parent, parent, parent).speed, Speed::not_asked);
  // A submission that removes the conflicts but loads unneeded data.
  StepCounts wasteful = own;
  wasteful["load requests"] = 8, wasteful["load sectors"] = 256;
  EXPECT_EQ(judge_counts(parent, wasteful, own).speed, Speed::some);
  // Shared memory is asked for where nothing else is; threads never are.
  const StepCounts padded = {{kSharedBytes, 4224}, {kThreads, 512}},
                   dense = {{kSharedBytes, 4096}, {kThreads, 128}};
  EXPECT_EQ(judge_counts(padded, padded, dense).speed, Speed::none);
  EXPECT_EQ(judge_counts(padded, {{kSharedBytes, 4096}, {kThreads, 512}}, dense).speed, Speed::enough);
}

TEST(StepNames, AreFoundInAllTheirForms) {
  for (const char* name : {"03.02", "3.2", "03_transpose.02", "transpose.02", "transpose.cpu.02",
                           "03.transpose.02", "transpose.cpu.02_blocked"})
    EXPECT_EQ(find_step(name).own->id, "transpose.cpu.02_blocked") << name;
  EXPECT_EQ(find_step("03.cuda.02").own->id, "transpose.cuda.02_shared_tile");
  EXPECT_EQ(find_step("03.compact.02").own->id, "compact.cpu.02_hoisted");
  EXPECT_EQ(find_step("matmul_bwd.02").own->id, "matmul_bwd.cpu.02_loop_order");
  for (const char* name : {"", "03", "03.99", "03.01", "99.02", "transpose.cpu.01_naive", "..", "03.cuda"})
    EXPECT_THROW(find_step(name), NotFound) << name;
}

TEST(StepLessons, HintsAreTakenOutAndSorted) {
  const std::string page =
      "## 02_blocked: squares\nText.\n<details><summary>Hint 1</summary>first</details>\n"
      "<details><summary>Hint 2 (compact)</summary>not mine</details>\n"
      "<details>\n<summary>Hint 2 (transpose, x)</summary>\n\nsecond\n\n</details>\nMore.\n"
      "## 02_blocked: squares, backward\nOther.\n## 03_x: y\nThird.\n";
  const StepLesson lesson = lesson_in(page, some_step());
  EXPECT_EQ(lesson.title, "squares");
  EXPECT_EQ(lesson.hints, (std::vector<std::string>{"first", "second"}));
  EXPECT_NE(lesson.text.find("More."), std::string::npos);
  EXPECT_EQ(lesson.text.find("Other."), std::string::npos);
  EXPECT_EQ(lesson.text.find("Third."), std::string::npos);
}

TEST(StepLessons, CodeIsTheLastHint) {
  const std::string page =
      "## 02_blocked: squares\nIt stores:\n```cpp\nout[i] = a[i];\n```\nMore.\n```\na picture\n```\n"
      "<details><summary>Hint 1</summary>first</details>\n";
  const StepLesson lesson = lesson_in(page, some_step());
  EXPECT_EQ(lesson.text.find("out[i]"), std::string::npos) << lesson.text;
  EXPECT_NE(lesson.text.find("a picture"), std::string::npos);
  ASSERT_EQ(lesson.hints.size(), 2U);
  EXPECT_EQ(lesson.hints[0], "first");
  EXPECT_NE(lesson.hints[1].find("out[i] = a[i];"), std::string::npos);
}

// The lines that klab's rung adds to its parent are not shown before the learner asks for a hint.
TEST(StepLessons, NoTextGivesTheAnswer) {
  const auto without_spaces = [](std::string line) {
    std::erase_if(line, [](char c) { return c == ' '; });
    return line;
  };
  for (const Step& s : steps()) {
    const std::string text = without_spaces(lesson_of(s).text);
    std::istringstream diff(unified_diff(work_text(s, *s.parent), work_text(s, *s.own), "a", "b", 0));
    for (std::string line; std::getline(diff, line);) {
      if (!line.starts_with('+') || line.starts_with("+++") || line.starts_with("+//")) continue;
      const std::string added = without_spaces(line.substr(1));
      if (added.size() < 20 || added.find(';') == std::string::npos) continue;
      EXPECT_EQ(text.find(added), std::string::npos) << s.own->id << ": " << line;
    }
  }
}

TEST(StepDiff, ShowsWhatChanged) {
  EXPECT_EQ(unified_diff("a\nb\nc\n", "a\nb\nc\n", "x", "y"), "");
  EXPECT_EQ(unified_diff("a\nb\nc\n", "a\nB\nc\nd\n", "x", "y", 1),
            "--- x\n+++ y\n@@ -1,3 +1,4 @@\n a\n-b\n+B\n c\n+d\n");
  EXPECT_EQ(unified_diff("", "a\n", "x", "y"), "--- x\n+++ y\n@@ -0,0 +1,1 @@\n+a\n");
}

TEST(StepCompiler, TheFirstErrorIsShownOnceAndShort) {
  std::string message;
  for (int target = 0; target < 3; ++target)  // the file is compiled once for each
    message +=
        "In file included from /usr/include/hwy/foreach_target.h:80,\n                 from 02.cpp:12:\n"
        "02.cpp: In function 'void part(const Args<float>&)':\n"
        "02.cpp:40:11: error: no matching function for call to 'StoreU(hn::Vec<float>, float*)'\n"
        "   40 |     StoreU(sum, x.c + i);\n      |     ~~~~~~^~~~~~~~~~~~~~\n"
        "/usr/include/hwy/ops/x86_256-inl.h:900:13: note: candidate: 'template<class T> void StoreU(...)'\n"
        "  900 | HWY_API void StoreU(...)\n"
        "02.cpp:44:3: error: 'y' was not declared in this scope\n   44 |   y = 1;\n";
  EXPECT_EQ(first_error(message),
            "02.cpp:40:11: error: no matching function for call to 'StoreU(hn::Vec<float>, float*)'\n"
            "   40 |     StoreU(sum, x.c + i);\n      |     ~~~~~~^~~~~~~~~~~~~~\nand 1 more error; this one "
            "first\n");
  // In a header, the line of one's own that led there comes with it.
  const std::string inside =
      "/usr/include/hwy/ops/x.h: In instantiation of 'V Add(V, V) [with V = int]':\n"
      "02.cpp:41:9:   required from here\n   41 |   Add(1, 2);\n"
      "/usr/include/hwy/ops/x.h:10:3: error: static assertion failed\n   10 |   static_assert(false);\n";
  const std::string text = first_error(inside);
  EXPECT_NE(text.find("static assertion failed"), std::string::npos);
  EXPECT_NE(text.find("from 02.cpp:41:9"), std::string::npos) << text;
  EXPECT_EQ(first_error("collect2: ld returned 1 exit status\n"), "collect2: ld returned 1 exit status\n");
}

TEST(StepCompiler, AWarningIsShownOnceAndIsNoError) {
  const std::string one =
      "02.cpp:9:15: warning: 'kTile' defined but not used [-Wunused-const-variable=]\n    9 | const int "
      "kTile;\n";
  EXPECT_EQ(warnings_once(one + one), one);
  EXPECT_EQ(warnings_once("02.cpp: note: x\n"), "");
}

TEST(StepCompiler, SplitsCommands) {
  EXPECT_EQ(split_command(R"x(c++ -DA="(B|C)" -I/x\ y 'a b' "" -DS=\"t\")x"),
            (std::vector<std::string>{"c++", "-DA=(B|C)", "-I/x y", "a b", "", "-DS=\"t\""}));
}

TEST(StepCompiler, LoopsAreRead) {
  const std::string source = "void f() {\n  for (;;) a();\n  for (int i = 0; i < n; ++i) c[i] = b[i];\n}\n";
  const std::string info =
      "w.cpp:2:3: missed: couldn't vectorize loop\nw.cpp:2:3: missed: not vectorized: number of iterations "
      "cannot be "
      "computed.\nw.cpp:3:3: optimized: loop vectorized using 16 byte vectors\nw.cpp:3:3: optimized:  loop "
      "versioned for "
      "vectorization because of possible aliasing\nother.h:3:1: optimized: loop vectorized using 64 byte "
      "vectors\n"
      "w.cpp:1:1: missed: not vectorized: no loop here\n";
  const auto loops = loops_in(info, "w.cpp", source);
  ASSERT_EQ(loops.size(), 2U);
  EXPECT_FALSE(loops[0].vectorized);
  EXPECT_EQ(loops[0].why, "number of iterations cannot be computed.");
  EXPECT_TRUE(loops[1].vectorized);
  EXPECT_TRUE(loops[1].checked);
  EXPECT_EQ(loops[1].bytes, 16);
}

TEST(StepImports, NamesForbiddenCalls) {
  EXPECT_EQ(forbidden_call({"memcpy", "cblas_sgemm"}, false)->name, "cblas_sgemm");
  EXPECT_TRUE(forbidden_call({"_ZN4dnnl6memoryC1Ev"}, false));
  EXPECT_TRUE(forbidden_call(
      {"_ZN4klab12find_variantERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"}, false));
  EXPECT_FALSE(forbidden_call(
      {"memcpy", "GOMP_parallel", "_Znwm", "_ZN4klab16register_variantERKNS_12RegistrationE"}, true));
  // klab::tile_unit(), and klab::why_no_tiles(), whose name has a tag since it returns a std::string.
  EXPECT_FALSE(forbidden_call({"_ZN4klab9tile_unitEv", "_ZN4klab12why_no_tilesB5cxx11Ev"}, false));
  // The reference, the check and whatever else holds an answer; what contracts declare may be called.
  EXPECT_TRUE(forbidden_call({"_ZN4klab9Transpose9referenceERKNS0_4ArgsIdEES4_"}, false));
  EXPECT_TRUE(forbidden_call({"_ZN4klab5stepsEv"}, false));
  EXPECT_TRUE(forbidden_call({"_ZN4klab4simt9host_bindEv"}, false));
  EXPECT_FALSE(forbidden_call({"_ZN4klab4simt8thread_xEv"}, false));
  EXPECT_FALSE(forbidden_call({"_ZN4klab15hashgrid_levelsEv"}, false));
  EXPECT_FALSE(forbidden_call({"fopen"}, false));
  EXPECT_TRUE(forbidden_call({"fopen"}, true));
  EXPECT_TRUE(forbidden_call({"dlsym"}, false));
  EXPECT_THROW(imports_of(std::string(KLAB_SOURCE_DIR) + "/CMakeLists.txt"), std::runtime_error);
  EXPECT_FALSE(imports_of(KLAB_PROGRAM).empty());
}

TEST(StepImports, NamesClocks) {
  for (const char* clock :
       {"clock_gettime", "gettimeofday", "_ZNSt6chrono3_V212steady_clock3nowEv", "omp_get_wtime"})
    EXPECT_TRUE(forbidden_call({"memcpy", clock}, false)) << clock;
  EXPECT_EQ(own_clock({"_ZN4klab3runEv", "clock_gettime"}), "clock_gettime");
  EXPECT_FALSE(own_clock({"_ZN4klab3runEv", "clocks_per_row"}));
  EXPECT_FALSE(definitions_of(KLAB_PROGRAM).empty());
}

std::string first_mistake(const std::string& step, const Answer& a) {
  const auto list = diagnose(find_step(step), a);
  return list.empty() ? "" : list.front().mistake;
}

TEST(StepDiagnosis, KnownMistakesAreNamed) {
  Answer a;
  a.outcome = Outcome::wrong;
  a.failure = Failure{
      .fault = Fault::wrong_value, .tensor = "c", .note = "34 of 1156 elements are wrong: the last row"};
  EXPECT_EQ(first_mistake("05.03", a), "off-by-one at a tile's edge");
  a.failure->note = "8 of 64 elements are wrong: every 8. from 3";
  EXPECT_EQ(first_mistake("05.03", a), "one lane, or one stride, wrong");
  a.failure->inputs = "n=17, denormal inputs";
  EXPECT_EQ(first_mistake("05.03", a), "denormals flushed");
  // A barrier is no remedy where there are no threads.
  a.failure = Failure{.fault = Fault::nondeterministic};
  EXPECT_EQ(first_mistake("05.06", a), "something that differs from call to call");
  a.starts_threads = true;
  EXPECT_EQ(first_mistake("05.06", a), "threads in one place");
  EXPECT_EQ(first_mistake("03.cuda.03", a), "two writers of one element");
  a.shares_memory = true;
  EXPECT_EQ(first_mistake("03.cuda.03", a), "missing barrier");
  a.failure = Failure{.fault = Fault::out_of_bounds, .note = "written 0 bytes past its end"};
  EXPECT_EQ(first_mistake("05.03", a), "unguarded edge");
  a.failure = Failure{.fault = Fault::finding, .note = "race on shared memory in kernel f"};
  EXPECT_EQ(first_mistake("03.cuda.02", a), "missing barrier");
  a.failure = Failure{
      .fault = Fault::finding,
      .note = "out of bounds in kernel f: writes 4 bytes in shared memory, 4 bytes past the end of tile"};
  EXPECT_EQ(first_mistake("03.cuda.02", a), "a shared array that is too small");
  a.failure = Failure{.fault = Fault::finding, .note = "out of bounds in kernel f: reads 4 bytes beyond in"};
  EXPECT_EQ(first_mistake("03.cuda.02", a), "unguarded edge");
  a.failure = Failure{.fault = Fault::finding, .note = "barrier divergence in kernel f"};
  EXPECT_EQ(first_mistake("03.cuda.02", a), "a barrier not all threads reach");
  Answer slow;
  slow.outcome = Outcome::no_faster;
  slow.compiled.good = true;
  slow.cases = 1;
  slow.counts = CountVerdict{};
  slow.wasteful = {{.line = 9, .write = true, .cost = 32, .ideal = 4, .stride = 4096}};
  EXPECT_EQ(first_mistake("03.cuda.02", slow), "uncoalesced store");
  slow.wasteful = {{.line = 9, .shared = true, .cost = 32, .ideal = 1, .stride = 128}};
  EXPECT_EQ(first_mistake("03.cuda.03", slow), "bank conflicts");
  slow.counts.reset();
  slow.wasteful.clear();
  slow.compiled.loops = {{.line = 7, .why = "data ref analysis failed"}};
  EXPECT_EQ(first_mistake("05.02", slow), "aliasing stops the vectors");
  slow.compiled.loops.clear();
  slow.speed.speed = Speed::slower;
  EXPECT_EQ(first_mistake("05.06", slow), "threads in each other's way");
  EXPECT_EQ(first_mistake("05.02", slow), "");
}

TEST(StepDiagnosis, GuessesRestOnTheValues) {
  Answer a;
  a.outcome = Outcome::wrong;
  a.failure = Failure{.fault = Fault::wrong_value, .tensor = "c", .expected = "1", .got = "2"};
  const auto mistake = [&](const WrongValues& values) {
    a.survey = Survey{.failed = 3, .passed = 4, .common = "all 3 failing cases have n odd", .values = values};
    return first_mistake("05.03", a);
  };
  EXPECT_EQ(mistake({.tensor = "c", .elements = 9, .wrong = 5, .relative = 1e-4}), "not accurate enough");
  EXPECT_EQ(mistake({.tensor = "c", .elements = 90, .wrong = 5, .relative = 1e-4}), "");
  EXPECT_EQ(mistake({.tensor = "c", .wrong = 5, .relative = 1, .limit = 65504}), "the range of a format");
  EXPECT_EQ(mistake({.tensor = "c", .wrong = 5, .finite = 5, .relative = 1}), "the range of a format");
  EXPECT_EQ(mistake({.tensor = "c", .wrong = 5, .zero = 5, .relative = 1}), "zeros where values belong");
  EXPECT_EQ(mistake({.tensor = "c", .wrong = 5, .relative = 1}), "");  // no evidence, no guess
  EXPECT_EQ(common_text(a), "All 3 failing cases have n odd.");
  EXPECT_TRUE(diagnosis_text(a, {}).starts_with("All 3 failing cases have n odd.\n"));
  a.unset = {{.line = 7, .text = "float sum;"}};
  EXPECT_EQ(mistake({.tensor = "c", .wrong = 5, .relative = 1e-4}), "read before set");
}

TEST(StepDiagnosis, ALawOfTheValuesComesFirst) {
  Answer a;
  a.outcome = Outcome::wrong;
  a.failure = Failure{.fault = Fault::wrong_value,
                      .tensor = "c",
                      .expected = "1",
                      .got = "1.00001",
                      .inputs = "n=1, random inputs"};
  a.survey =
      Survey{.failed = 3,
             .passed = 4,
             .common = "",
             .values = {.tensor = "c", .elements = 9, .wrong = 9, .zero = 9, .relative = 1e-4},
             .law = Law{.mistake = "one factor", .sentence = "Every value is n times what it should be."}};
  // It goes to the judge's output and back.
  a.survey = survey_from(to_json(*a.survey));
  ASSERT_TRUE(a.survey->law.has_value());
  EXPECT_EQ(first_mistake("05.03", a), "one factor");
  EXPECT_EQ(diagnose(find_step("05.03"), a).front().sentence, "Every value is n times what it should be.");
  // A law that tells places only comes after what the values say.
  a.survey->law->values = false;
  EXPECT_EQ(first_mistake("05.03", a), "not accurate enough");
  a.failure->got = "2";
  a.survey->values.relative = 1, a.survey->values.zero = 0;
  EXPECT_EQ(first_mistake("05.03", a), "one factor");
  a.unset = {{.line = 7, .text = "float sum;"}};
  EXPECT_EQ(first_mistake("05.03", a), "read before set");
}

TEST(StepDiagnosis, NaNAndInfinitiesAreNoRoundingErrors) {
  Answer a;
  a.outcome = Outcome::wrong;
  // Values of another case of the survey, which are nearly right, explain no NaN.
  a.survey = Survey{
      .failed = 3, .passed = 4, .values = {.tensor = "c", .elements = 9, .wrong = 9, .relative = 1e-4}};
  const auto mistake = [&](const char* expected, const char* got, const char* inputs) {
    a.failure = Failure{
        .fault = Fault::non_finite, .tensor = "c", .expected = expected, .got = got, .inputs = inputs};
    return first_mistake("05.03", a);
  };
#if defined(__x86_64__)
  EXPECT_EQ(mistake("1", "-nan", "n=1, random inputs"), "an operation without a result");
#endif
  EXPECT_EQ(mistake("1", "nan", "n=1, random inputs"), "not written, or read outside");
  EXPECT_EQ(mistake("1", "inf", "n=1, huge inputs"), "an overflow");
  EXPECT_EQ(mistake("-1", "-inf", "n=1, huge inputs"), "an overflow");
  EXPECT_EQ(mistake("1", "-inf", "n=1, huge inputs"), "an overflow");
  EXPECT_NE(diagnose(find_step("05.03"), a).front().sentence.find("logarithm"), std::string::npos);
  // Which elements are NaN or infinite, if a rule tells them.
  a.survey->law =
      Law{.mistake = "one part of the output", .sentence = "Only row 0 is wrong.", .values = false};
  EXPECT_TRUE(diagnose(find_step("05.03"), a).front().sentence.ends_with(" Only row 0 is wrong."));
  EXPECT_EQ(mistake("1", "inf", "n=1, huge inputs"), "an overflow");
}

TEST(StepDiagnosis, FirstDigitsThatAreRightWithSomeInputsOnly) {
  Answer a;
  a.outcome = Outcome::wrong;
  a.failure = Failure{.fault = Fault::wrong_value,
                      .tensor = "rstd",
                      .expected = "316.22777",
                      .got = "316.124847",
                      .inputs = "n=1 c=1025, constant inputs"};
  a.survey = Survey{.values = {.tensor = "y", .elements = 9, .wrong = 9, .relative = 1}};
  EXPECT_EQ(first_mistake("07.02", a), "not accurate enough");
  a.failure->got = "200";
  EXPECT_EQ(first_mistake("07.02", a), "no pattern in the values");
  // Cases fail here and there.
  a.survey->failed = 3;
  a.survey->passed = 40;
  EXPECT_EQ(first_mistake("07.02", a), "it depends on the values");
}

TEST(StepDiagnosis, NamesDamageThatTheCLibraryFinds) {
  Answer a;
  a.outcome = Outcome::crashes;
  a.text = "SIGABRT while checking";
  EXPECT_EQ(first_mistake("12.02", a), "");
  for (const char* words :
       {"free(): invalid next size (normal)", "malloc(): corrupted top size", "corrupted size vs. prev_size",
        "double free or corruption (out)", "munmap_chunk(): invalid pointer",
        "*** stack smashing detected ***: terminated"}) {
    a.printed = words;
    EXPECT_EQ(first_mistake("12.02", a), "written beyond an array") << words;
  }
  a.printed = "freed 3 blocks";
  EXPECT_EQ(first_mistake("12.02", a), "");
}

TEST(StepPlaces, DeclarationsWithoutAValueAreFound) {
  const auto list = unset_variables(
      "namespace klab {\nfloat global;\nvoid f() {\n  float sum;\n  float part[4][2], more;\n  int64_t i = "
      "0;\n"
      "  static float kept;\n  // float said;\n  const float* p;\n}\n}\n");
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].line, 4);
  EXPECT_EQ(list[0].text, "float sum;");
  EXPECT_EQ(list[1].line, 5);
}

TEST(StepArguments, ComeFromTheContract) {
  const auto list = arguments_of("transpose");
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].first, "in");
  EXPECT_EQ(list[0].second, "[m,n] f32 row-major, input");
  const auto joined =
      arguments_in("  struct Args {\n    const T* a;  // one,\n                 // two\n    T* b;\n  };\n");
  ASSERT_EQ(joined.size(), 2U);
  EXPECT_EQ(joined[0].second, "one, two");
  EXPECT_EQ(joined[1].second, "");
  EXPECT_NE(start_text(find_step("03.02")).find("// ARGUMENT  x.in: [m,n] f32 row-major, input"),
            std::string::npos);
}

}  // namespace
}  // namespace klab
