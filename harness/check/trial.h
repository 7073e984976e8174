// One variant, one shape: runs it on given inputs and judges what it left behind.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/check/check.h"
#include "harness/check/compare.h"
#include "harness/check/cpu_call.h"
#include "harness/check/crash_guard.h"
#include "harness/check/given.h"
#include "harness/simt/session.h"

namespace klab {

/// The buffers of one variant at one shape, kept from run to run so that stale results show.
/// What is seen of a CPU variant during its call is CpuCall's business; what kernels do on the host, simt::Session's.
class Trial {
 public:
  /// Tensor k begins `offsets[k]` elements off alignment.
  Trial(const Op& op, const Variant& variant, ShapeView shape, const std::vector<TensorSpec>& specs,
        std::vector<int64_t> offsets, CrashGuard& guard, GuardPlacement placement = GuardPlacement::fenced);
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  struct Outcome {
    std::optional<Failure> failure;
    double worst = 0;
    std::vector<Comparison> outputs;  // one a tensor that is not an input, in order; empty after a failure
  };

  /// Poisons the outputs, runs the variant on these inputs and judges: exceptions, fences, inputs, values. A
  /// wrong value is run again, to tell a variant that is always wrong from one that is sometimes
  /// (nondeterministic) and from one that is right in fresh buffers only (stale).
  Outcome run(const Given& given);

  /// The same without asking why: one run, and its failure, if there is one.
  std::optional<Failure> failure(const Given& given) {
    if (auto failure = execute(given)) return failure;
    return judge(given).failure;
  }

  /// Whether CUDA variants on the host run with every access watched from now on. A block that takes more than `most`
  /// steps, when that is not 0, is too long for it: it runs again unwatched, and what was seen of it until then counts.
  void watch(bool every_access, uint64_t most = 0) {
    watched_ = every_access;
    watch_limit_ = most;
  }

  /// Limits unwatched runs of CUDA variants on the host: the steps of a block, and the work of all blocks (simt::Session::work()).
  /// A run that exceeds one ends with a finding, and ended_early() holds.
  void end_after(uint64_t most, uint64_t most_work) {
    watched_ = false;
    step_limit_ = most;
    work_limit_ = most_work;
  }
  bool ended_early() const { return ended_early_; }

  /// Sets the number of multiprocessors that kernels on the host are told: grids made to fill few are soon too small for the data,
  /// so that loops over the grid turn more than once. 0: as many as the named GPU has.
  void on_multiprocessors(int count) { multiprocessors_ = count; }

  /// Sets the number of threads of a CPU variant; 0: as many as there are.
  void with_threads(int count) { cpu_.with_threads(count); }

  /// The inputs of the next run are those that `earlier` (as outputs() gives it) is the answer to, but for this one
  /// element.
  void changed(std::vector<std::vector<char>> earlier, std::string what) {
    before_change_ = std::move(earlier);
    change_ = std::move(what);
  }

  /// The next run finds these outputs (of an earlier one, as outputs() gives them) in place of poison, all but one element
  /// of each: a variant that looks whether its work is done already, here and there, takes them for its own.
  void find_done(std::vector<std::vector<char>> outputs) {
    done_ = std::move(outputs);
    missing_ = runs_;
  }

  /// Runs the variant once, in a form whose accesses are seen, and returns the first race of its threads; nothing else is judged.
  std::optional<Failure> race(const Given& given);

  /// The threads that wrote something in the run of race().
  int writers() const { return cpu_.writers(); }
  /// Whether that run was watched to its end and in all the memory it touched.
  bool all_watched() const { return cpu_.all_watched(); }

  /// The threads that worked at once in the last run of a CPU variant; 1 where they are not watched.
  int threads_seen() const { return cpu_.threads_seen(); }

  /// What the runs so far cost the host executor; see simt::Session::work().
  uint64_t host_work() const { return host_work_; }

  /// The most of simt::block_turns() of all runs that ended.
  double block_turns() const { return block_turns_; }

  /// Keeps the tensors for ever: threads that the variant has left behind may still use them.
  void abandon() { abandoned_ = true; }

  /// The outputs of the last run, byte for byte.
  std::vector<std::vector<char>> outputs() const;

  /// Compares the last run with an earlier one on the same inputs.
  std::optional<Failure> repeats(const std::vector<std::vector<char>>& earlier, const Given& given) const;

 private:
  void nearly_done();
  std::optional<Failure> execute(const Given& given);
  std::optional<Failure> execute(const Given& given, simt::Options options);
  void prepare(const Given& given);
  std::optional<Failure> never_written(const Given& given) const;
  std::optional<Failure> contradiction(const Given& given) const;
  char poison_of(const TensorSpec& spec) const;
  Numerics numerics_at(Pattern pattern) const;
  Outcome judge(const Given& given) const;
  void diagnose(Failure& failure, const Given& given);
  Failure describe(Failure failure, const Given& given) const;

  const Op& op_;
  const Variant& variant_;
  ShapeView shape_;
  const std::vector<TensorSpec>& specs_;
  std::vector<int64_t> offsets_;
  CrashGuard& guard_;
  GuardPlacement placement_;
  Tensors tensors_;
  std::function<void()> call_;
  CpuCall cpu_;
  char poison_ = char(0xFF);  // what outputs of floats hold before a run, NaN
  std::vector<std::vector<char>> before_change_;
  std::string change_;
  bool abandoned_ = false;  // somebody may still use the tensors
  bool watched_ = false;
  int multiprocessors_ = 0;
  std::vector<std::vector<char>> done_;
  uint64_t missing_ = 0;  // which element of done_ is
  uint64_t runs_ = 0;
  uint64_t host_work_ = 0;
  double block_turns_ = 0;
  uint64_t watch_limit_ = 0, step_limit_ = 0, work_limit_ = 0;
  bool ended_early_ = false;  // the last run, at the limit of steps
};

}  // namespace klab
