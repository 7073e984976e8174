// One call of a CPU variant, and what is seen around it: memory, threads, the state of the process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/check/check.h"
#include "harness/check/crash_guard.h"
#include "harness/core/buffers.h"

namespace klab {

/// Inputs may only be read where they lie in guarded pages, memory from malloc() and the stack below hold garbage, threads are
/// counted, and what the variant leaves behind of the process's state is named and put back. Failures do not say at which
/// inputs they were seen (Failure::inputs): the caller knows.
class CpuCall {
 public:
  /// `call` is the variant's, bound to the tensors.
  CpuCall(const Variant& variant, const std::vector<TensorSpec>& specs, Tensors& tensors,
          const std::function<void()>& call, CrashGuard& guard)
      : variant_(variant), specs_(specs), tensors_(tensors), call_(call), guard_(guard) {}

  /// Sets the number of threads; 0: as many as there are.
  void with_threads(int count) { threads_ = count; }
  int threads() const { return threads_; }

  /// Makes the call, the `run`th of these tensors, and returns the first thing that should not be. `prepare` puts inputs and
  /// outputs in place; it is called before every call: one after which only the process's surroundings differ is made twice.
  std::optional<Failure> make(uint64_t run, const std::function<void()>& prepare);
  /// Makes the call in a form whose accesses are seen, and returns the first race of its threads; nothing else is judged.
  std::optional<Failure> race(uint64_t run);

  /// The threads that worked at once in the last call.
  int threads_seen() const { return threads_seen_; }
  /// The threads that wrote something in the call of race().
  int writers() const { return writers_; }
  /// Whether that call was watched to its end and in all the memory it touched.
  bool all_watched() const { return all_watched_; }
  /// Whether threads may still use the tensors.
  bool left_threads() const { return left_threads_; }

 private:
  /// What differs after a call that other processes or threads may have changed.
  struct Outside {
    bool only = false;                                     // nothing else differs
    int closed = -1;                                       // the number of a file that was open
    std::shared_ptr<const ProcessState::Outside> changed;  // null where nothing of it is
  };
  std::optional<Failure> once(uint64_t run, Outside& outside);
  std::optional<Failure> works_on(const std::string& how);
  std::optional<Failure> touched(const std::vector<MemoryFault>& faults) const;
  std::optional<Failure> left_behind(uint64_t run, int threads, Outside& outside);
  void say_where(const void* address, int bytes, Failure& failure) const;

  const Variant& variant_;
  const std::vector<TensorSpec>& specs_;
  Tensors& tensors_;
  const std::function<void()>& call_;
  CrashGuard& guard_;
  int threads_ = 0, threads_seen_ = 1, writers_ = 0;
  bool all_watched_ = true, left_threads_ = false;
};

}  // namespace klab
