// How CUDA variants are run on the host, and what was seen of them.
//
//   simt::Session session({.traced = true});
//   variant.bind(shape, pointers)();
//   for (const simt::Finding& f : session.findings()) ...
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/simt/finding.h"

namespace klab::simt {

class Profile;
struct CompiledCode;

/// A block none of whose threads ends, and which passes no barrier, for so many steps never ends. What is right takes
/// a fraction of these. Barriers do not help for ever: kStepsInAll times as many in all.
inline constexpr uint64_t kTracedSteps = 50'000'000, kSteps = 1'000'000'000, kStepsInAll = 4;

struct Options {
  bool traced = false;  // watch every access: findings and counts, at a tenth of the speed
  bool counts = true;   // traced: count requests, sectors and conflicts as well
  uint64_t seed = 1;    // order of blocks, warps and lanes, hence of atomics
  uint64_t step_limit =
      0;  // branches, and accesses where traced, without progress; 0: kTracedSteps or kSteps
  uint64_t work_limit =
      0;  // Session::work() at which a launch ends, between two blocks, as if it never did; 0: none
  int most_findings = 20;  // different ones that are kept
  double share =
      1;  // of the blocks of a grid that are watched; the others run unwatched, and counts are scaled
  const CompiledCode* compiled = nullptr;  // traced: what nvcc made of the kernels, to count by as well
  int threads = 1;          // of the host that run the blocks of a grid, with the same outcome (grid_run.h)
  int multiprocessors = 0;  // what kernels are told the device has; 0: as the named GPU
};

/// Adds a finding to a list, once for each place: what is found again counts. At most so many are kept.
void add_finding(std::vector<Finding>& list, const Finding& finding, size_t most);

/// Of this host thread, until it ends; sessions nest, the innermost counts.
class Session {
 public:
  explicit Session(const Options& options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Options& options() const { return options_; }
  const std::vector<Finding>& findings() const { return findings_; }
  void clear() { findings_.clear(); }
  void add(const Finding& finding);
  Profile& profile() { return *profile_; }
  /// What the launches cost the host, in units of about one branch or watched access of a kernel: threads, steps and
  /// switches between threads. Unlike time it is the same at every run and on every machine.
  uint64_t work() const { return work_; }
  /// The next number of a row that begins with the seed.
  uint64_t random() { return turn_ = turn_ * 6364136223846793005U + 1442695040888963407U; }
  void add_work(uint64_t units) { work_ += units; }

  /// Of threads that have none of their own: this one, for as long as the process lives. For programs with a main of their own.
  static void share(Session& session);

  /// The innermost of this thread; else the shared one; else a plain untraced one.
  static Session& current();

 private:
  Options options_;
  std::vector<Finding> findings_;
  uint64_t work_ = 0;
  uint64_t turn_ = 0;  // of random()
  std::unique_ptr<Profile> profile_;
  Session* outer_;
};

}  // namespace klab::simt
