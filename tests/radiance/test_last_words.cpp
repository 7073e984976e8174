// Who of several processes ended first: processes that are killed as a launcher does it, the others in the moment in which the end of
// the first is known. Between ranks of MPI: test_ranks.sh.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>
#include <vector>

#include "labs/radiance/ranks/last_words.h"

namespace klab {
namespace {

constexpr int kProcesses = 4;

std::string meeting(const char* test, int round) {
  return "klab-test-" + std::to_string(getpid()) + "-" + test + "-" + std::to_string(round);
}

std::string all_of(int pipe) {
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t n = 0; (n = read(pipe, part.data(), part.size())) > 0;) text.append(part.data(), size_t(n));
  return text;
}

/// Processes that have joined and wait; the stderr of them and of their watchdog goes to `said`.
struct Group {
  std::vector<pid_t> processes;
  int said = -1;

  /// `rank` runs `work` when it has joined.
  explicit Group(const std::string& name, void (*work)(LastWords& words, int rank)) {
    int ends[2], ready[2], go[2];
    EXPECT_EQ(pipe(ends), 0);
    EXPECT_EQ(pipe(ready), 0);
    EXPECT_EQ(pipe(go), 0);
    for (int rank = 0; rank < kProcesses; ++rank) {
      const pid_t child = fork();
      if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        for (const int end : {ends[0], ends[1], ready[0], go[1]}) close(end);
        LastWords words(name);
        words.set("rank " + std::to_string(rank) + " has ended; ", "/no/such/file", "with", "without");
        EXPECT_EQ(write(ready[1], "x", 1), 1);
        close(ready[1]);
        all_of(go[0]);  // as ranks wait for each other in MPI_Init
        work(words, rank);
        words.~LastWords();
        _exit(0);
      }
      processes.push_back(child);
    }
    close(ends[1]);
    close(ready[1]);
    EXPECT_EQ(all_of(ready[0]).size(), size_t(kProcesses));
    for (const int end : {ready[0], go[0], go[1]}) close(end);
    said = ends[0];
  }
  ~Group() { close(said); }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  void end(size_t which) const {
    kill(processes[which], SIGKILL);
    waitpid(processes[which], nullptr, 0);
  }
};

void wait_for_the_worst(LastWords&, int) {
  while (true) pause();
}

TEST(LastWords, NameTheFirstRankToEnd) {
  for (int round = 0; round < 24; ++round) {
    const Group group(meeting("first", round), wait_for_the_worst);
    const size_t victim = size_t(round) % kProcesses;
    group.end(victim);
    for (size_t i = 0; i < kProcesses; ++i)
      if (i != victim) kill(group.processes[i], SIGKILL);
    EXPECT_EQ(all_of(group.said), "rank " + std::to_string(victim) + " has ended; without\n") << round;
    for (const pid_t p : group.processes) waitpid(p, nullptr, 0);
  }
}

TEST(LastWords, PrintNothingForANormalEnd) {
  const Group group(meeting("order", 0), [](LastWords&, int) {});
  for (const pid_t p : group.processes) waitpid(p, nullptr, 0);
  EXPECT_EQ(all_of(group.said), "");
}

TEST(LastWords, ASelfExplainedEndNamesNoOtherRank) {
  const Group group(meeting("speak", 0), [](LastWords& words, int) {
    const std::string text = words.may_speak() ? "because\n" : "";
    (void)!write(STDERR_FILENO, text.data(), text.size());
    kill(getpid(), SIGKILL);  // not in order
  });
  for (const pid_t p : group.processes) waitpid(p, nullptr, 0);
  EXPECT_EQ(all_of(group.said), "because\n") << "one of them, whichever it is";
}

TEST(LastWords, NameTheCheckpointIfThereIsOne) {
  const Group group(meeting("checkpoint", 0), [](LastWords& words, int rank) {
    if (rank != 0) wait_for_the_worst(words, rank);
    words.set("gone: ", "/proc/self/exe", "go on", "begin anew");
    kill(getpid(), SIGKILL);
  });
  waitpid(group.processes[0], nullptr, 0);
  for (size_t i = 1; i < kProcesses; ++i) group.end(i);
  EXPECT_EQ(all_of(group.said), "gone: go on\n");
}

TEST(LastWords, MeetingNamesBelongToOneLauncher) {
  const std::string here = LastWords::meeting_of_launcher();
  EXPECT_NE(here.find(std::to_string(getppid())), std::string::npos) << here;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const std::string name = LastWords::meeting_of_launcher();
    _exit(write(ends[1], name.data(), name.size()) == ssize_t(name.size()) ? 0 : 1);
  }
  close(ends[1]);
  const std::string below = all_of(ends[0]);
  close(ends[0]);
  waitpid(child, nullptr, 0);
  EXPECT_NE(below.find(std::to_string(getpid())), std::string::npos) << "another launcher, another meeting";
}

}  // namespace
}  // namespace klab
