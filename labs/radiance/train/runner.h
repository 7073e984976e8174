// Runs lists of ops: replaces names by addresses and sizes, and calls the plan's variants.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "harness/program/plan.h"
#include "harness/program/profile.h"
#include "labs/radiance/train/op_list.h"

namespace klab {

/// A place where lists run: its memory, and how it calls a variant.
struct Backend {
  static constexpr size_t kStaged = 4096;  // bytes of a small upload

  std::string name;            // "cpu"
  bool in_host_memory = true;  // arrays of the host are used in place
  /// Whether numbers that ops have written are read between calls, so that each call has the size it needs.
  /// Otherwise a call has the largest size that the arena has room for, and the surplus is padding.
  bool exact = true;
  /// Allocates zeroed memory. Throws std::bad_alloc or std::runtime_error if there is too little.
  std::function<void*(size_t bytes, const std::string& tensor)> alloc;
  std::function<void(void* p, size_t bytes)> free;
  std::function<void(void*to, const void*from, size_t bytes)> upload, download;
  std::function<void(void* p, uint8_t byte, size_t bytes)> fill;
  /// Returns a variant bound to its shape and pointers, ready to be called.
  std::function<std::function<void()>(const Variant&, ShapeView, std::span<void* const>)> bind;
  /// Waits for all calls and throws their errors.
  std::function<void()> wait;
  /// Uploads a few bytes in order with calls; the source may change at once. Empty: upload does it.
  std::function<void(void* to, const void* from, size_t bytes)> stage;
  /// Copies concurrently with calls, on a stream of its own, to memory that earlier calls may still read: the
  /// copy starts after them. The source may change at once. Returns how often the host had to wait for room.
  /// Empty: upload does it, in order with the calls.
  std::function<int64_t(void* to, const void* from, size_t bytes)> load;
  /// Makes later calls wait for all loads so far; the host does not wait. Empty: they wait anyway.
  std::function<void()> loaded;
  int64_t load_room = 0;  // bytes of the host's memory that loads go through
  /// Records calls as one that can be repeated; they are made once without being run. Empty: not supported.
  std::function<std::function<void()>(const std::function<void()>& calls)> record;
  /// A clock in order with calls. mark() does not wait; between_marks() does, returns the seconds between
  /// each mark and the next, and forgets the marks. Empty: the host times calls, which have finished when
  /// they return.
  std::function<void()> mark;
  std::function<std::vector<double>()> between_marks;
  /// Bytes that are still available. Empty: unknown.
  std::function<int64_t()> available;
};

/// The processor, in the host's memory.
Backend cpu_backend();

class Runner {
 public:
  /// Allocates memory for every tensor of the arena except those with a mirror in the host's memory. The
  /// arena must outlive it.
  Runner(const Arena& arena, Backend backend);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  /// Ties a tensor to an array of the host, before allocate(). A backend in the host's memory uses this
  /// array; otherwise push() and pull() copy.
  void mirror(const void* tensor, void* host);
  /// Allocates the memory, for all tensors, or for those that the lists name and those with a mirror.
  void allocate(std::span<const OpList* const> lists = {});
  /// Returns the bytes of that memory, including the host's mirrors.
  static int64_t bytes_of(const Arena& arena, std::span<const OpList* const> lists = {});
  void pull(const void* tensor) const;
  /// Copy all tensors with a mirror.
  void push();
  void pull() const;

  /// Sets the value of an extent or a choice.
  void set(int64_t symbol, int64_t value) { values_[Arena::symbol_of(symbol)] = value; }
  /// Returns the present value of a dimension: the size that calls get.
  int64_t size(int64_t dim) const;

  /// Returns the address of a tensor in the backend's memory.
  void* address(const void* tensor) const { return resolve(tensor); }

  /// Copy into and out of a tensor, from its begin.
  void write(const void* tensor, const void* host, size_t bytes);
  void read(void* host, const void* tensor, size_t bytes) const;

  /// Like write(), but concurrent with the calls that were made: these still see the old content. Later calls
  /// see the new content, complete, after the next loaded(); in between it is undefined. Not allowed within a
  /// list.
  void load(const void* tensor, const void* host, size_t bytes);
  void loaded();

  /// Runs of a recorded list from one that is called op by op, to be timed by the backend's clock, to the
  /// next. The profile uses its seconds for all runs since the last one.
  static constexpr int64_t kTimedEvery = 64;
  /// Times one of `runs` runs of a list from now on, for programs that measure only a few steps.
  void time_every(int64_t runs) { timed_every_ = runs; }

  /// Calls everything in order; a list whose sizes do not change is recorded where the backend can, at its second run, and
  /// repeated from then on. It must live as long as the runner then. Throws std::logic_error for a shape that an op does not have or an op that was not planned.
  void run(const OpList& list, const Plan& plan, Profile& profile);

  const Backend& backend() const { return backend_; }

  /// What the host did so far: waits for the backend, also by reading from it; ops and fills called; lists repeated as they
  /// were recorded.
  struct Counts {
    int64_t waits = 0, calls = 0, repeated = 0;
  };
  const Counts& counts() const { return counts_; }
  /// Waits for all that was called.
  void wait() const;

 private:
  char* resolve(const void* pointer) const;
  const LabOp* op_of(const std::string& name);
  void call_all(const OpList& list, const Plan& plan, Profile& profile);
  int64_t timed_every_ = kTimedEvery;
  void call_marked(const OpList& list, const Plan& plan, Profile& profile, int64_t runs);
  struct Made {  // a call, bound
    std::vector<int64_t> shape;
    std::vector<void*> pointers;
    Cost cost;
    std::function<void()> work;
  };
  void make(Made& made, const OpCall& call, const Plan& plan);

  const Arena& arena_;
  Backend backend_;
  std::vector<char*> addresses_;                       // by tensor
  std::vector<char*> mirrors_;                         // of the host; null without
  std::vector<int64_t> values_;                        // by symbol
  std::unordered_map<std::string, const LabOp*> ops_;  // that were looked for
  struct MadeList {
    VariantIds plan;
    std::vector<Made> calls;
  };
  std::unordered_map<const OpList*, MadeList> made_;  // as each was called last
  struct Recorded {
    VariantIds plan;
    std::vector<int64_t> choices;
    std::function<void()> repeat;  // empty: it was run once
    int64_t untimed = 0;           // runs since the last whose calls were timed one by one
  };
  std::unordered_map<const OpList*, Recorded> recorded_;
  mutable Counts counts_;
  bool marks_ = false;  // ahead of each call
};

}  // namespace klab
