#include "harness/simt/background.h"

#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <mutex>

#include "harness/simt/executor.h"
#include "harness/simt/host_workers.h"
#include "harness/simt/trace_time.h"

namespace klab::simt {

bool (*host_shares_memory)() = nullptr;
std::atomic<bool> copies_may_write{false};

namespace {

std::atomic<Background*> left_by_host{nullptr};  // the launch that host code has left

std::shared_ptr<void> copy_of_parameters(const void* bytes, size_t count) {
  void* p = std::aligned_alloc(64, (count + 64) / 64 * 64);
  if (p == nullptr) throw Error("cudaErrorMemoryAllocation", "no memory for the parameters of a launch");
  if (count > 0) std::memcpy(p, bytes, count);
  return {p, std::free};
}

Launch with_parameters(Launch launch, void* parameters) {
  launch.parameters = parameters;
  return launch;
}

/// Returns whether the program has a thread that neither runs blocks nor calls this.
bool has_other_threads() {
  std::error_code error;
  const auto tasks = std::filesystem::directory_iterator("/proc/self/task", error);
  return error || std::distance(begin(tasks), end(tasks)) > 1 + host_workers();
}

}  // namespace

Background::Background(const Launch& launch, const std::string& kernel, Session& session, Profile* profile)
    : parameters_(copy_of_parameters(launch.parameters, launch.parameter_bytes)),
      launch_(with_parameters(launch, parameters_.get())),
      grid_(launch_, kernel, session, profile),
      work_([this] { executor().work_on(grid_); }) {
  grid_.background = this;
}

void Background::check() const {
  if (grid_.error()) std::rethrow_exception(grid_.error());
  if (grid_.fatal()) throw Error(cuda_name_of(*grid_.fatal()), grid_.fatal()->describe());
}

bool Background::run(int threads) {
  if (!begin_on_host_workers(threads, work_, [this] { return waits_.load() > 0; })) return false;
  check();
  return true;
}

void Background::finish(const Standstill& otherwise) {
  constexpr uint64_t kPatience = 4;  // waits, each longer than a thread of the host needs to begin
  const uint64_t before = waits_;
  standstill_ = otherwise;
  while (!host_workers_ended(20))
    if (waits_ - before >= kPatience && !has_other_threads()) alone_ = true;
  check();
}

bool Background::wait_for_host(const void* word) {
  constexpr int kTries = 50;
  constexpr timespec kPause{0, 200'000};
  word_ = word;
  ++waits_;
  ask_again();
  uint32_t was = 0, is = 0;
  const auto* at = static_cast<const char*>(word) - reinterpret_cast<uintptr_t>(word) % 4;
  std::memcpy(&was, at, sizeof was);
  // Spins again after some time in any case: the word may have changed before it was read here.
  for (int k = 0; k < kTries && !alone_; ++k) {
    nanosleep(&kPause, nullptr);
    __atomic_load(reinterpret_cast<const uint32_t*>(at), &is, __ATOMIC_ACQUIRE);
    if (is != was) break;
  }
  return !alone_;
}

uint64_t run_in_background(const Launch& launch, const std::string& kernel, Session& session,
                           Profile* profile, int threads) {
  wait_for_background();  // of an earlier node of a graph
  auto one = std::make_unique<Background>(launch, kernel, session, profile);
  if (one->run(threads)) return one->watched_blocks();
  const uint64_t blocks = uint64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2];
  left_by_host = one.release();
  return blocks;
}

void wait_for_background(const Standstill& otherwise) {
  static std::recursive_mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  Background* const one = left_by_host;
  if (one == nullptr) return;
  const struct Over {
    ~Over() {
      const std::unique_ptr<Background> ended(left_by_host.exchange(nullptr));
      nothing_meanwhile();
    }
  } over;
  one->finish(otherwise);
}

bool launch_is_left() { return left_by_host != nullptr; }
bool left_launch_has_ended() { return launch_is_left() && host_workers_ended(0); }

bool background_waits_for(const void* word) {
  const Background* const one = left_by_host;
  return one != nullptr && one->waits_for(word);
}

}  // namespace klab::simt
