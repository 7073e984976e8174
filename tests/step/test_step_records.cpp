// Records of a learner's work: progress that is never lost, exports with a digest, processes that are
// stopped.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "harness/core/source.h"
#include "harness/records/digest.h"
#include "harness/step/learner.h"
#include "harness/step/process.h"
#include "harness/step/sandbox.h"
#include "harness/step/submissions.h"

namespace klab {
namespace {
namespace fs = std::filesystem;

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

std::string contents(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

size_t files_in(const fs::path& folder, const std::string& part) {
  size_t n = 0;
  for (const auto& entry : fs::directory_iterator(folder))
    n += entry.path().filename().string().find(part) != std::string::npos ? 1 : 0;
  return n;
}

Answer passed(double ratio) {
  Answer a;
  a.outcome = Outcome::passed;
  a.compiled.good = true;
  a.cases = 1;
  a.speed.over_parent = Estimate{.value = ratio};
  return a;
}

TEST(StepProgress, IsKept) {
  const ScratchFolder folder;
  const Step& step = steps().front();
  EXPECT_TRUE(read_progress(folder.path()).steps.empty());
  change_progress(folder.path(), [&](ProgressBook& b) { enter(b, step, passed(1.5)); });
  change_progress(folder.path(), [&](ProgressBook& b) { enter(b, step, passed(1.2)); });
  Answer wrong;
  wrong.outcome = Outcome::wrong;
  change_progress(folder.path(), [&](ProgressBook& b) { enter(b, step, wrong); });
  const ProgressBook book = read_progress(folder.path());
  const StepRecord& r = book.steps.at(step.own->id);
  EXPECT_EQ(r.tries, 3);
  EXPECT_TRUE(r.done);
  EXPECT_DOUBLE_EQ(r.best_ratio, 1.5);
  EXPECT_EQ(r.outcome, "wrong");
  EXPECT_EQ(r.first_done.size(), 20U);
  EXPECT_EQ(book.last, step.own->id);
  EXPECT_EQ(files_in(folder.path(), "partial"), 0U);
}

TEST(StepProgress, DamagedFilesAreMovedAsideAndNamed) {
  for (const char* text :
       {"", "{", "[1,2]", "{\"klab_progress\":1}", "{\"klab_progress\":1,\"steps\":{\"x\":7}}",
        "{\"klab_progress\":99,\"steps\":{}}", "\xff\xfe garbage"}) {
    const ScratchFolder folder;
    write(folder.path() / "progress.json", text);
    const ProgressBook book = change_progress(folder.path(), [](ProgressBook& b) { b.last = "x"; });
    EXPECT_FALSE(book.note.empty()) << text;
    EXPECT_EQ(read_progress(folder.path()).last, "x") << text;
    size_t kept = 0;
    for (const auto& entry : fs::directory_iterator(folder.path()))
      if (entry.path().filename().string().starts_with("progress.json.") && contents(entry.path()) == text)
        ++kept;
    EXPECT_EQ(kept, 1U) << text;
  }
}

TEST(StepProgress, OlderFilesAreTakenOverAndKept) {
  const ScratchFolder folder;
  write(folder.path() / "progress.json", R"({"steps":{"a.cpu.02_b":{"done":true,"best_ratio":2.5}}})");
  const ProgressBook book = read_progress(folder.path());
  EXPECT_TRUE(book.steps.at("a.cpu.02_b").done);
  EXPECT_DOUBLE_EQ(book.steps.at("a.cpu.02_b").best_ratio, 2.5);
  EXPECT_EQ(files_in(folder.path(), "older"), 1U);
}

TEST(StepProgress, MapsFormerNamesOfRungsToPresentOnes) {
  const auto renamed = std::ranges::find_if(variants(), [](const Variant& v) { return !v.was.empty(); });
  ASSERT_NE(renamed, variants().end());
  const ScratchFolder folder;
  write(folder.path() / "progress.json", R"({"klab_progress":1,"last":")" + renamed->was.back() +
                                             R"(","steps":{")" + renamed->was.back() +
                                             R"(":{"done":true}}})");
  const ProgressBook book = read_progress(folder.path());
  EXPECT_TRUE(book.steps.at(renamed->id).done);
  EXPECT_EQ(book.last, renamed->id);
}

TEST(StepProgress, TwoAtATimeLoseNothing) {
  const ScratchFolder folder;
  const auto many = [&](const std::string& id) {
    for (int k = 0; k < 50; ++k)
      change_progress(folder.path(), [&](ProgressBook& b) { ++b.steps[id].tries; });
  };
  std::thread other(many, "b");
  many("a");
  other.join();
  const ProgressBook book = read_progress(folder.path());
  EXPECT_EQ(book.steps.at("a").tries, 50);
  EXPECT_EQ(book.steps.at("b").tries, 50);
}

// FIPS 180-4's examples, and one whose padding needs a separate block.
TEST(StepDigest, IsSha256) {
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(StepSubmissions, RoundTripsAnExportAndDetectsAChange) {
  const ScratchFolder work, handed;
  const Step& step = steps().front();
  write(work.path() / step.work, "int x;\n");
  const std::string text = export_text(work.path(), "Ada");
  write(handed.path() / "ada.json", text);
  std::string changed = text;
  changed.replace(changed.find("int x"), 5, "int y");
  write(handed.path() / "bob.json", changed);
  write(handed.path() / "c.json", "{}");
  write(handed.path() / "d" / step.work, "int z;\n");
  write(handed.path() / "secret", "not handed in");
  fs::create_directories(handed.path() / "e" / fs::path(step.work).parent_path());
  fs::create_symlink(handed.path() / "d" / step.work, handed.path() / "e" / step.work);
  fs::create_symlink(handed.path() / "d", handed.path() / "f");
  const auto list = submissions_in(handed.path());
  ASSERT_EQ(list.size(), 5U);
  EXPECT_FALSE(list[0].changed);
  EXPECT_EQ(list[0].files.at(step.work), "int x;\n");
  EXPECT_FALSE(list[0].machine.empty());
  EXPECT_TRUE(list[1].changed);
  EXPECT_TRUE(list[2].problem.starts_with("no export of klab step")) << list[2].problem;
  EXPECT_EQ(list[3].files.at(step.work), "int z;\n");
  EXPECT_TRUE(list[4].files.empty());
  EXPECT_NE(list[4].problem.find("link"), std::string::npos);
  EXPECT_THROW(export_text(handed.path(), "nobody"), std::runtime_error);
  EXPECT_THROW(submissions_in(handed.path() / "nowhere"), std::runtime_error);
}

// The machine in an export does not influence whether it counts as changed.
TEST(StepSubmissions, DetectsAChangeInAnExportWithoutAMachine) {
  const ScratchFolder work, handed;
  const Step& step = steps().front();
  write(work.path() / step.work, "int x;\n");
  const auto whole = nlohmann::json::parse(export_text(work.path(), "Ada"));
  const std::vector<std::pair<std::string, nlohmann::json>> machines = {
      {"empty", nlohmann::json::object()}, {"null", nullptr}, {"other", {{"fingerprint", 7}}}};
  for (const auto& [name, machine] : machines) {
    auto changed = whole;
    changed["machine"] = machine;
    changed["files"][step.work] = "int y;\n";
    write(handed.path() / (name + ".json"), changed.dump());
    changed.erase("digest");
    write(handed.path() / (name + "_2.json"), changed.dump());
  }
  for (const Submission& s : submissions_in(handed.path())) EXPECT_TRUE(s.changed) << s.name;
}

TEST(StepProcess, ReportsHowAProgramEnded) {
  EXPECT_TRUE(run_process({"true"}, {}).good());
  EXPECT_EQ(run_process({"sh", "-c", "exit 7"}, {}).code, 7);
  EXPECT_EQ(run_process({"sh", "-c", "echo out; echo err >&2"}, {}).words, "out\nerr\n");
  const Ended killed = run_process({"sh", "-c", "kill -SEGV $$"}, {});
  EXPECT_EQ(killed.how, Ended::How::signalled);
  EXPECT_EQ(signal_name(killed.code), "SIGSEGV");
  EXPECT_EQ(run_process({"/nonexistent/program"}, {}).how, Ended::How::cannot_start);
}

TEST(StepProcess, StopsProgramsThatDoNotEnd) {
  EXPECT_EQ(run_process({"sleep", "60"}, {.seconds = 0.2}).how, Ended::How::too_long);
  EXPECT_EQ(run_process({"yes"}, {.seconds = 0.3}).how, Ended::How::too_long);
  // Its child processes end with it.
  const ScratchFolder folder;
  const std::string file = (folder.path() / "pid").string();
  run_process({"sh", "-c", "sleep 60 & echo $! > " + file + "; wait"}, {.seconds = 2});
  const pid_t left = pid_t(std::stol(read_text(file)));
  for (int k = 0; k < 100 && kill(left, 0) == 0; ++k) {
    // A zombie that is not reaped has ended, too.
    const std::string stat = fs::exists("/proc/" + std::to_string(left) + "/stat")
                                 ? read_text("/proc/" + std::to_string(left) + "/stat")
                                 : ") Z";
    if (stat.find(") Z") != std::string::npos) return;
    usleep(20000);
  }
  EXPECT_NE(kill(left, 0), 0);
}

TEST(StepProcess, WaitingForAProcessorIsNotTakenForRunning) {
  if (!fs::exists("/proc/self/schedstat"))
    GTEST_SKIP() << "the kernel does not say how long a process waited";
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  int core = 0;
  while (!CPU_ISSET(core, &allowed)) ++core;
  // Three programs share a core. The kernel ends this one after a second of its own, which is three seconds here.
  const std::vector<std::string> pinned = {"taskset", "-c", std::to_string(core), "sh", "-c"};
  const auto with = [&](const std::string& script) {
    std::vector<std::string> command = pinned;
    command.push_back(script);
    return command;
  };
  std::vector<std::thread> neighbors;
  for (int k = 0; k < 2; ++k)
    neighbors.emplace_back([&] { run_process(with("ulimit -t 3; while :; do :; done"), {.seconds = 20}); });
  const Ended e = run_process(with("ulimit -t 1; while :; do :; done"), {.seconds = 1.6});
  for (std::thread& neighbor : neighbors) neighbor.join();
  EXPECT_EQ(e.how, Ended::How::signalled) << "stopped after " << e.seconds << " s";
}

TEST(StepProcess, ReadsLinesAndAppliesTheirNewLimits) {
  std::vector<std::string> lines;
  const Ended e = run_process({"sh", "-c", "echo one >&3; sleep 60; echo two >&3"}, {.seconds = 60},
                              [&](const std::string& line) {
                                lines.push_back(line);
                                return ProcessLimits{.seconds = 0.2};
                              });
  EXPECT_EQ(e.how, Ended::How::too_long);
  EXPECT_EQ(lines, (std::vector<std::string>{"one"}));
}

TEST(StepSandbox, ExposesItsFolderAndLittleElse) {
  if (!why_no_sandbox().empty()) GTEST_SKIP() << why_no_sandbox();
  const ScratchFolder mine, other;
  write(other.path() / "secret", "s");
  write(mine.path() / "own", "o");
  const auto confined = [&](const std::string& script) {
    return run_process(confined_command(KLAB_PROGRAM, mine.path(), {"/bin/sh", "-c", script}), {});
  };
  EXPECT_TRUE(confined("cat " + (mine.path() / "own").string()).good());
  EXPECT_TRUE(confined("echo x > " + (mine.path() / "new").string()).good());
  EXPECT_FALSE(confined("cat " + (other.path() / "secret").string()).good());
  EXPECT_FALSE(confined("echo x > " + (other.path() / "secret").string()).good());
  EXPECT_FALSE(confined("ls " + other.path().string()).good());
  EXPECT_FALSE(confined("cat /etc/passwd").good());
  EXPECT_FALSE(
      confined("cat " + std::string(KLAB_SOURCE_DIR) + "/kernels/vector_add/cpu/02_simd.cpp").good());
  EXPECT_TRUE(
      confined("cat " + std::string(KLAB_SOURCE_DIR) + "/harness/core/registrar.h > /dev/null").good());
  EXPECT_FALSE(confined("rm " + (other.path() / "secret").string()).good());
  EXPECT_FALSE(confined("cat /proc/1/cmdline").good());
  EXPECT_TRUE(fs::exists(other.path() / "secret"));
}

}  // namespace
}  // namespace klab
