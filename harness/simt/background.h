// A launch whose kernel waits for host code: host code runs on meanwhile, up to its next call of the runtime.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/simt/grid_run.h"

namespace klab::simt {

/// In programs: returns whether host code may write memory that kernels read while they run. nullptr: it may not.
extern bool (*host_shares_memory)();
/// In programs: copies in other streams may write device memory while a kernel runs.
extern std::atomic<bool> copies_may_write;

/// Why nothing can write the word that a launch waits for, once the host waits for the launch.
struct Standstill {
  bool on_gpu = false;  // a GPU would not get on either
  std::string why;
};

class Background {
 public:
  Background(const Launch& launch, const std::string& kernel, Session& session, Profile* profile);
  /// Runs the launch. Returns true when it has ended, false if it waits for host code.
  bool run(int threads);
  /// Waits for its end, and throws its error. Lets its threads give up if nothing is left that could write what they wait for.
  void finish(const Standstill& otherwise);
  /// Valid once wait_for_host() has returned false.
  const Standstill& standstill() const { return standstill_; }
  /// Called by the thread that runs a block which does nothing but read this word. Returns false if nothing can write it.
  bool wait_for_host(const void* word);
  bool waits_for(const void* p) const { return p == word_.load(); }
  uint64_t watched_blocks() const { return grid_.watched_blocks(); }

 private:
  void check() const;

  std::shared_ptr<void> parameters_;
  Launch launch_;
  GridRun grid_;
  std::function<void()> work_;
  std::atomic<const void*> word_{nullptr};  // the last one
  std::atomic<uint64_t> waits_{0};
  Standstill standstill_;  // set before alone_
  std::atomic<bool> alone_{false};
};

/// Runs a launch that may wait for host code; returns how many blocks were watched so far.
uint64_t run_in_background(const Launch& launch, const std::string& kernel, Session& session,
                           Profile* profile, int threads);
/// Waits for the launch that host code has left, if there is one. Throws simt::Error if it failed.
void wait_for_background(const Standstill& otherwise = {});
/// Returns whether host code has left a launch and has not waited for it since.
bool launch_is_left();
/// Returns whether it has ended.
bool left_launch_has_ended();
/// Returns whether that launch waits for the word.
bool background_waits_for(const void* word);

}  // namespace klab::simt
