// How CUDA variants run on the host, and the findings and counts of a run.
//
//   simt::Session session({.traced = true});
//   variant.bind(shape, pointers)();
//   for (const simt::Finding& f : session.findings()) ...
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "harness/simt/finding.h"

namespace klab::simt {

class Profile;
struct CompiledCode;

/// Default step limits. A launch is ended as endless after this many steps of a block in which no thread ends
/// and no barrier is passed. Correct kernels take a fraction of that. Passing barriers extends the limit only
/// up to kStepsInAll times as many steps in total.
inline constexpr uint64_t kTracedSteps = 50'000'000, kSteps = 1'000'000'000, kStepsInAll = 4;

struct Options {
  bool traced = false;      // watch every access: reports findings and counts, at a tenth of the speed
  bool counts = true;       // when traced: also count requests, sectors and conflicts
  uint64_t seed = 1;        // determines the order of blocks, warps and lanes, and so that of atomics
  uint64_t step_limit = 0;  // branches, and accesses if traced, without progress; 0: kTracedSteps or kSteps
  uint64_t work_limit =
      0;  // work() at which a launch ends between two blocks as if it never ended; 0: no limit
  int most_findings = 20;  // number of distinct findings that are kept
  double share =
      1;  // fraction of a grid's blocks that is watched; the others run unwatched, and counts are scaled
  const CompiledCode* compiled = nullptr;  // when traced: machine code to count by as well
  // host threads that run the blocks of a grid; the outcome is the same (grid_run.h)
  int threads = 1;
  // go on behind accesses out of bounds: loads find zeros, stores are dropped (contain.h)
  bool goes_on = false;
  int multiprocessors = 0;  // number that kernels see; 0: that of the named GPU
};

/// Adds a finding to a list, or increments the count of one at the same place. Keeps at most `most` findings.
void add_finding(std::vector<Finding>& list, const Finding& finding, size_t most);

/// A session of this host thread, active until destroyed. Sessions nest; the innermost is active.
class Session {
 public:
  explicit Session(const Options& options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Options& options() const { return options_; }
  /// Returns the findings so far, without those about reads that were hints.
  const std::vector<Finding>& findings();
  /// Records that the plain read at that place only guesses: an atomic of the same thread decides. May be called
  /// from several threads.
  void hint(const void* place);
  void clear() { findings_.clear(); }
  void add(const Finding& finding);
  /// Adds findings before all others: the causes of some of them.
  void add_first(const std::vector<Finding>& causes);
  Profile& profile() { return *profile_; }
  /// Returns the cost of the launches to the host, in units of about one branch or watched access: threads,
  /// steps and switches between threads. Unlike time it is identical in every run and on every machine.
  uint64_t work() const { return work_; }
  /// Returns the next number of a sequence that the seed starts.
  uint64_t random() { return turn_ = turn_ * 6364136223846793005U + 1442695040888963407U; }
  void add_work(uint64_t units) { work_ += units; }

  /// Makes this session that of all threads without one of their own, until the process ends. For programs
  /// with their own main.
  static void share(Session& session);

  /// Returns the innermost session of this thread, else the shared one, else a plain untraced one.
  static Session& current();

 private:
  Options options_;
  std::vector<Finding> findings_;
  std::mutex hints_mutex_;
  std::set<const void*> hints_;
  uint64_t work_ = 0;
  uint64_t turn_ = 0;  // state of random()
  std::unique_ptr<Profile> profile_;
  Session* outer_;
};

}  // namespace klab::simt
