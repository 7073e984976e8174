// The surroundings of a call that the check observes: unmapped pages, threads, the state of the process.
#include <fenv.h>
#include <gtest/gtest.h>
#include <omp.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "harness/check/check.h"
#include "harness/check/crash_guard.h"
#include "harness/check/failure_text.h"
#include "harness/check/process_state.h"
#include "harness/check/thread_watch.h"
#include "harness/core/buffers.h"
#include "harness/core/kept_mappings.h"

namespace klab {
namespace {

TEST(Guarded, TensorsLieWhereTheyAreAskedTo) {
  for (const int64_t bytes : {0, 4, 60, 64, 4096, 5000, 3 << 20})
    for (const int64_t misalign : {0, 4, 12, 32}) {
      for (const GuardPlacement placement :
           {GuardPlacement::from_page, GuardPlacement::to_page, GuardPlacement::near_page}) {
        Buffer b(bytes, misalign, 1, placement);
        b.poison();
        EXPECT_TRUE(b.intact(nullptr));
        if (placement != GuardPlacement::to_page)
          EXPECT_EQ(reinterpret_cast<uintptr_t>(b.data()) % 64, uintptr_t(misalign));
        else
          EXPECT_EQ(reinterpret_cast<uintptr_t>(b.as<char>() + bytes) % uintptr_t(sysconf(_SC_PAGESIZE)), 0U);
      }
    }
}

TEST(LargeTensors, AreKeptForTheNextOnesWhileACheckRuns) {
  constexpr int64_t kBytes = 8 << 20;
  {
    const KeptMappings mappings;
    const void* first = nullptr;
    {
      Buffer one(kBytes, 0);
      first = one.data();
      one.poison();
    }
    const Buffer larger(2 * kBytes, 0), same(kBytes, 0, 1), another(kBytes, 0);
    EXPECT_NE(larger.data(), first);
    EXPECT_EQ(same.data(), first);
    EXPECT_NE(another.data(), first);
    EXPECT_TRUE(same.intact(nullptr)) << "it has the fences of the one before";
    EXPECT_EQ(*same.as<unsigned char>(), 0xFF);
  }
  const Buffer fresh(kBytes, 0);
  EXPECT_EQ(*fresh.as<unsigned char>(), 0) << "kept behind the end of the check";
}

TEST(Guarded, AccessesBeyondATensorAreNotedAndLetThrough) {
  CrashGuard guard;
  const Buffer in(400, 0, 0, GuardPlacement::to_page), out(400, 0, 1, GuardPlacement::from_page);
  for (int again = 0; again < 2; ++again) {
    watch_memory();
    const volatile float* beyond = in.as<float>() + 100;
    float seen = beyond[0] + beyond[3];
    volatile float* before = out.as<float>();
    before[-1] = seen;
    const auto faults = take_memory_faults();
    ASSERT_EQ(faults.size(), 2U);
    EXPECT_EQ(in.place_of(faults[0].at), "right behind its end");
    EXPECT_EQ(faults[0].access, MemoryFault::Access::read);
    EXPECT_EQ(out.place_of(faults[1].at), "4 bytes before its beginning");
    EXPECT_EQ(faults[1].access, MemoryFault::Access::write);
  }
}

TEST(Guarded, AnInputThatIsWrittenToAndPutBackIsNoted) {
  CrashGuard guard;
  Buffer in(4096, 0, 0, GuardPlacement::near_page);
  in.poison();
  in.read_only(true);
  watch_memory();
  volatile auto* p = in.as<float>();
  const float kept = p[7];
  p[7] = 0;
  p[7] = kept;
  const auto faults = take_memory_faults();
  in.read_only(false);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_TRUE(faults[0].mapped);
  EXPECT_TRUE(in.holds(faults[0].at));
}

TEST(State, LeftoverStateIsNamedAndRestored) {
  const int threads = omp_get_max_threads();
  const ProcessState before;
  EXPECT_TRUE(before.changes(threads).empty());
  fesetround(FE_UPWARD);
  setenv("KLAB_TEST_LEFT_BEHIND", "1", 1);
  signal(SIGUSR2, SIG_IGN);
  omp_set_num_threads(threads + 1);
  ASSERT_EQ(chdir("/"), 0);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::string all;
  for (const std::string& change : before.changes(threads)) all += change + "\n";
  for (const char* part :
       {"rounding mode, now upward", "KLAB_TEST_LEFT_BEHIND", "the handler of SIGUSR2",
        "OpenMP's number of threads", "the working directory", "whether SIGUSR1 is blocked"})
    EXPECT_NE(all.find(part), std::string::npos) << part << " is not in\n" << all;
  before.restore(threads);
  EXPECT_TRUE(before.changes(threads).empty());
  EXPECT_EQ(std::getenv("KLAB_TEST_LEFT_BEHIND"), nullptr);
}

#if defined(__x86_64__)
TEST(State, CoversWorkerThreads) {
#pragma omp parallel num_threads(3)
  if (omp_get_thread_num() == 1) __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8000);
  const std::string left = mend_arithmetic_of_workers(3);
  EXPECT_NE(left.find("flush-to-zero"), std::string::npos) << left;
  EXPECT_EQ(mend_arithmetic_of_workers(3), "");
}
#endif

// An empty parallel region would be left out.
void nothing() { __asm__ volatile(""); }

TEST(Threads, CountsEvenShortLivedOnes) {
  if (!threads_are_watched()) GTEST_SKIP() << "a sanitized build";
  const int usual = omp_get_max_threads();
  use_threads(2);
  {
    const ThreadWatch watch(2, true);
#pragma omp parallel num_threads(2)
    nothing();
    EXPECT_EQ(watch.too_many(), "");
    EXPECT_EQ(watch.still_running(), "");
  }
  {
    const ThreadWatch watch(2, true);
#pragma omp parallel num_threads(6)
    nothing();
    EXPECT_NE(watch.too_many(), "");
  }
  use_threads(1);
  {
    const ThreadWatch watch(1, true);
    std::thread a([] {}), b([] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
    std::thread c([] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
    EXPECT_NE(watch.too_many(), "");
    EXPECT_NE(watch.still_running(), "");
    a.join(), b.join(), c.join();
    EXPECT_EQ(watch.still_running(), "");
  }
  use_threads(usual);
}

/// A crash in the calling thread is a failure like others: the check goes on, and says where it was.
TEST(Crashes, InTheCallingThreadAreFailures) {
  const Variant* v = find_variant("transpose.cpu.74_divides_by_zero");
  ASSERT_NE(v, nullptr);
  const CheckResult result = check(*find_op("transpose"), {&v, 1}).variants[0];
  ASSERT_FALSE(result.failures.empty());
  EXPECT_EQ(result.failures[0].fault, Fault::crashed);
  EXPECT_NE(result.failures[0].inputs.find("m="), std::string::npos) << failure_text(result.failures[0]);
  EXPECT_NE(result.failures[0].note.find("SIGFPE"), std::string::npos) << failure_text(result.failures[0]);
}

}  // namespace
}  // namespace klab
