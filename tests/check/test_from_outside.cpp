// What changes of a process while a kernel runs is the kernel's doing only if a second call does it again: `renice`, `taskset` and
// `prlimit` change a running process from outside, and its other threads open and close files.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "harness/check/check.h"
#include "harness/check/failure_text.h"
#include "harness/core/registry.h"

namespace klab {
namespace {

/// c = a + b, and `also` after it.
Variant sum_and(std::function<void()> also) {
  Variant v;
  v.op = "vector_add";
  v.backend = "cpu";
  v.rung = "60_specimen";
  v.id = "vector_add.cpu.60_specimen";
  v.supported = [](ShapeView, const Host&) { return std::string(); };
  v.bind = [also](ShapeView shape, std::span<void* const> p) -> std::function<void()> {
    return [also, n = shape[0], a = static_cast<float*>(p[0]), b = static_cast<float*>(p[1]),
            c = static_cast<float*>(p[2])] {
      for (int64_t i = 0; i < n; ++i) c[i] = a[i] + b[i];
      also();
    };
  };
  return v;
}

CheckResult checked_with(std::function<void()> also) {
  const Variant v = sum_and(std::move(also));
  const Variant* list[] = {&v};
  return check(*find_op(v.op), list, {.max_failures = 1, .shape = {17}, .done = {}}).variants.front();
}

void expect_passes(const CheckResult& result) {
  EXPECT_GT(result.cases, 0);
  for (const Failure& f : result.failures) ADD_FAILURE() << failure_text(f);
}

void expect_named(const CheckResult& result, const std::string& what) {
  ASSERT_FALSE(result.failures.empty());
  EXPECT_EQ(result.failures[0].fault, Fault::state);
  EXPECT_NE(result.failures[0].note.find(what), std::string::npos) << failure_text(result.failures[0]);
}

/// Has another process do something to this one, at the third call of what it returns.
std::function<void()> once_from_outside(std::function<void(pid_t)> change) {
  return [change, calls = std::make_shared<int>(0)] {
    if (++*calls != 3) return;
    const pid_t here = getpid(), other = fork();
    if (other == 0) {
      change(here);
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(other, &status, 0), other);
  };
}

int nice_now() { return getpriority(PRIO_PROCESS, 0); }

TEST(FromOutside, ANiceValueIsAcceptedOnceAndStays) {
  const int before = nice_now();
  expect_passes(checked_with(
      once_from_outside([&](pid_t here) { setpriority(PRIO_PROCESS, id_t(here), before + 1); })));
  EXPECT_EQ(nice_now(), before + 1);
}

TEST(FromOutside, AKernelThatChangesItsNiceValueIsNamed) {
  const int before = nice_now();
  // By the C library, to the same value in each call; and by the system directly, a step at a time.
  expect_named(checked_with([&] { setpriority(PRIO_PROCESS, 0, before + 1); }), "the nice value");
  expect_named(checked_with([] { syscall(SYS_setpriority, PRIO_PROCESS, 0, nice_now() + 1); }),
               "the nice value");
  const int now = nice_now();
  expect_named(checked_with([&] { syscall(SYS_setpriority, PRIO_PROCESS, 0, now + 1); }), "the nice value");
}

class Cores : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(sched_getaffinity(0, sizeof all_, &all_), 0);
    if (CPU_COUNT(&all_) < 2) GTEST_SKIP() << "one core";
    CPU_ZERO(&one_);
    for (int core = 0; CPU_COUNT(&one_) == 0; ++core)
      if (CPU_ISSET(core, &all_)) CPU_SET(core, &one_);
  }
  void TearDown() override { sched_setaffinity(0, sizeof all_, &all_); }
  cpu_set_t all_{}, one_{};
};

TEST_F(Cores, AreAcceptedFromOutsideAndStay) {
  expect_passes(
      checked_with(once_from_outside([this](pid_t here) { sched_setaffinity(here, sizeof one_, &one_); })));
  cpu_set_t now{};
  sched_getaffinity(0, sizeof now, &now);
  EXPECT_TRUE(CPU_EQUAL(&now, &one_));
}

TEST_F(Cores, AreNamedWhereAKernelChoosesThem) {
  expect_named(checked_with([this] { sched_setaffinity(0, sizeof one_, &one_); }), "on which cores");
  cpu_set_t now{};
  sched_getaffinity(0, sizeof now, &now);
  EXPECT_TRUE(CPU_EQUAL(&now, &all_));
}

rlimit core_limit() {
  rlimit limit{};
  getrlimit(RLIMIT_CORE, &limit);
  return limit;
}

rlimit another_core_limit() {
  rlimit limit = core_limit();
  limit.rlim_cur = limit.rlim_cur == 0 ? limit.rlim_max : 0;
  return limit;
}

TEST(FromOutside, ALimitIsAcceptedOnce) {
  const rlimit other = another_core_limit();
  if (other.rlim_cur == core_limit().rlim_cur) GTEST_SKIP() << "core files are forbidden";
  const auto change = once_from_outside([&](pid_t here) { prlimit(here, RLIMIT_CORE, &other, nullptr); });
  expect_passes(checked_with(change));
  EXPECT_EQ(core_limit().rlim_cur, other.rlim_cur);
}

TEST(FromOutside, ALimitThatAKernelSetsIsNamed) {
  const rlimit other = another_core_limit();
  if (other.rlim_cur == core_limit().rlim_cur) GTEST_SKIP() << "core files are forbidden";
  expect_named(checked_with([&] { setrlimit(RLIMIT_CORE, &other); }), "the process's limit of core files");
}

/// A thread that does something to files when a kernel is called the third time, and something else when the kernel has long
/// returned. The kernel waits for the first.
struct OtherThread {
  std::atomic<int> calls{0}, done{0};
  std::jthread thread;
  OtherThread(std::function<void()> at_the_call, std::function<void()> later)
      : thread([this, at_the_call, later](const std::stop_token& stop) {
          while (calls < 3)
            if (stop.stop_requested()) return;
          at_the_call();
          done = 1;
          std::this_thread::sleep_for(std::chrono::milliseconds(30));
          later();
        }) {}
  void call() {
    if (++calls == 3)
      while (done == 0) continue;
  }
};

TEST(FromOutside, AFileThatAnotherThreadOpensForAMomentIsNotLeftOpen) {
  int file = -1;
  OtherThread other([&] { file = open("/dev/null", O_RDONLY); }, [&] { close(file); });
  expect_passes(checked_with([&] { other.call(); }));
  EXPECT_GE(file, 0);
}

TEST(FromOutside, AFileThatAnotherThreadClosesIsNotTheKernels) {
  const int file = open("/dev/null", O_RDONLY);
  OtherThread other([&] { close(file); }, [] {});
  expect_passes(checked_with([&] { other.call(); }));
  EXPECT_EQ(fcntl(file, F_GETFD), -1);
}

TEST(FromOutside, AKernelThatClosesAFileIsNamed) {
  const int file = open("/dev/null", O_RDONLY);
  expect_named(checked_with([&] { close(file); }),
               "a file that was open is closed: number " + std::to_string(file));
}

}  // namespace
}  // namespace klab
