#include "harness/check/cpu_call.h"

#include <fmt/core.h>
#include <malloc.h>
#include <omp.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "harness/check/compare.h"
#include "harness/check/detectors.h"
#include "harness/check/given.h"
#include "harness/check/thread_races.h"
#include "harness/check/thread_watch.h"
#include "harness/core/element.h"
#include "harness/simt/modules.h"

namespace klab {
namespace {

// What fresh memory holds: as a float 3.4e38, as an index far beyond any tensor. With it, memory that was freed and is given out
// again holds the complement, which is nearly zero; so every second run has another pair, -0.37 and 12.
constexpr int kGarbage[] = {0x7F, 0xBE};
constexpr size_t kLargestKept = 1032, kKeptStep = 16,
                 kKeptEach = 7;    // glibc's cache of a thread: bytes, blocks of a size
constexpr double kPatience = 0.5;  // seconds for a thread that was left behind to end
constexpr size_t kStackBytes = 1 << 14;

/// What the next function finds in its uninitialized variables: NaN in every floating-point type, and no byte pattern that
/// outputs are poisoned with.
__attribute__((noinline)) void poison_stack() {
  volatile uint64_t below[kStackBytes / 8];
  for (volatile uint64_t& word : below) word = 0x7FFAFFFA7FFAFFFA;
}

/// Fills the blocks that malloc() keeps for this thread: it gives them out again as they are.
void poison_kept_blocks(int garbage) {
  std::array<void*, kKeptEach> blocks{};
  for (size_t bytes = 24; bytes <= kLargestKept; bytes += kKeptStep) {
    for (void*& block : blocks)
      if ((block = std::malloc(bytes)) != nullptr) std::memset(block, garbage, bytes);
    __asm__ volatile(""
                     :
                     : "r"(blocks.data())
                     : "memory");  // keeps the compiler from leaving out blocks that are not read
    for (void* block : blocks) std::free(block);
  }
}

/// Fresh memory of malloc() holds garbage while one lives, where it is given out by glibc.
class GarbageInMemory {
 public:
  /// Filling the kept blocks takes 20 us: `first` says whether this run of a trial is the one that does it.
  GarbageInMemory(uint64_t run, bool first) {
    const int garbage = kGarbage[run % 2];
    if (first && uses(Detector::kept_blocks)) poison_kept_blocks(garbage);
    if (uses(Detector::fresh_memory)) set(garbage ^ 0xFF);
  }
  ~GarbageInMemory() { set(0); }
  GarbageInMemory(const GarbageInMemory&) = delete;
  GarbageInMemory& operator=(const GarbageInMemory&) = delete;

 private:
  static void set([[maybe_unused]] int byte) {
#if defined(__GLIBC__)
    mallopt(M_PERTURB, byte);
#endif
  }
};

/// "read at kernels/sum/cpu/02_threads.cpp:31"
std::string did(const ThreadRace::Side& side) {
  const simt::SourceLine line = simt::source_of(side.pc);
  const char* how = side.atomic ? (side.write ? "changed atomically" : "read atomically")
                                : (side.write ? "written" : "read");
  return line.line > 0 ? fmt::format("{} at {}:{}", how, line.file, line.line) : how;
}

std::string joined(const std::vector<std::string>& list) {
  std::string text;
  for (const std::string& part : list) text += (text.empty() ? "" : "; ") + part;
  return text;
}

}  // namespace

// `renice`, `taskset` and the like change a process while it runs, and its other threads may close files. So a call after which
// only something of that kind differs is repeated: a kernel that did it does it again.
std::optional<Failure> CpuCall::make(uint64_t run, const std::function<void()>& prepare) {
  Outside first, second;
  prepare();
  auto failure = once(run, first);
  if (!failure || !first.only) return failure;
  const bool replaced = first.closed >= 0 && replace_file(first.closed);
  if (first.changed) guard_.adopt_outside(*guard_.before().outside_now());
  prepare();
  failure = once(run, second);
  if (replaced && second.closed < 0) close(first.closed);
  if (!failure && first.changed) guard_.adopt_outside(*first.changed);
  return failure;
}

std::optional<Failure> CpuCall::once(uint64_t run, Outside& outside) {
  const int usual = omp_get_max_threads(), threads = threads_ > 0 ? threads_ : usual;
  use_threads(threads);
  for (size_t k = 0; k < specs_.size(); ++k) tensors_[k].read_only(specs_[k].role == Role::input);
  const ThreadWatch watch(threads, run == 1);
  const int file = next_file();
  std::optional<Failure> failure, thrown;
  watch_memory();
  try {
    if (uses(Detector::stack)) poison_stack();
    const GarbageInMemory garbage(run + 1, run == 1);
    if (const auto crash = guard_.survive(call_)) failure = Failure{.fault = Fault::crashed, .note = *crash};
  } catch (const std::exception& e) {
    thrown = Failure{.fault = Fault::threw, .note = e.what()};
  } catch (...) {
    thrown = Failure{.fault = Fault::threw, .note = "not a std::exception"};
  }
  std::string left = watch.still_running(), many;
  if (uses(Detector::thread_count)) many = watch.too_many();
  if (!uses(Detector::threads_that_stay)) left.clear();
  threads_seen_ = watch.most();
  const auto first = [&](std::optional<Failure> other) {
    if (!failure) failure = std::move(other);
  };
  if (!left.empty()) first(works_on(left));
  first(touched(take_memory_faults()));
  first(std::move(thrown));
  // A vendor library may have settled its threads when it was set up.
  if (!many.empty() && !variant_.peer) first(Failure{.fault = Fault::threads, .note = many});
  const bool looks_at_files = !variant_.peer && uses(Detector::process_state);
  if (const std::string files = file_left(file); !files.empty() && looks_at_files)
    first(Failure{.fault = Fault::state, .note = files});
  const bool faultless = !failure;
  if (const int closed = file_closed(file); closed >= 0 && looks_at_files) {
    outside.closed = closed;
    first(Failure{.fault = Fault::state,
                  .note = fmt::format("a file that was open is closed: number {}", closed)});
  }
  first(left_behind(run, threads, outside));
  outside.only = outside.only && faultless;
  if (!left.empty() && !watch.wait_for_end(kPatience)) left_threads_ = true;
  if (threads != usual) omp_set_num_threads(usual);
  return failure;
}

/// What it has done after it returned, in as much time as it is given for it.
std::optional<Failure> CpuCall::works_on(const std::string& how) {
  const auto at_return = bytes_of_outputs(specs_, tensors_);
  // A thread that still writes to an input must not end the process.
  for (size_t k = 0; k < tensors_.size(); ++k) tensors_[k].read_only(false);
  for (int look = 0; look < 20 && bytes_of_outputs(specs_, tensors_) == at_return; ++look)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return Failure{
      .fault = Fault::late,
      .note =
          how + " after it has returned" +
          (bytes_of_outputs(specs_, tensors_) == at_return ? "" : ", and has written to the outputs since")};
}

/// The first access that should not have been, in words, and of which tensor.
std::optional<Failure> CpuCall::touched(const std::vector<MemoryFault>& faults) const {
  if (!uses(Detector::guard_pages)) return std::nullopt;
  for (const MemoryFault& f : faults) {
    const std::string did = f.access == MemoryFault::Access::read    ? "read"
                            : f.access == MemoryFault::Access::write ? "written"
                                                                     : "touched";
    const std::string pages = faults.size() > 1 ? fmt::format(", and {} more pages", faults.size() - 1) : "";
    for (size_t k = 0; k < specs_.size(); ++k) {
      const std::string place = tensors_[k].place_of(f.at);
      if (place.empty()) continue;
      if (!tensors_[k].holds(f.at))
        return Failure{
            .fault = Fault::out_of_bounds, .tensor = specs_[k].name, .note = did + " " + place + pages};
      const int64_t i = (f.at - tensors_[k].as<std::byte>()) / size_of(specs_[k].element);
      return Failure{.fault = Fault::input_changed,
                     .tensor = specs_[k].name,
                     .index = index_text(i, specs_[k].dims),
                     .note = "an input is written to, whatever stands there afterwards"};
    }
    return Failure{.fault = Fault::out_of_bounds, .note = did + " where there is no memory" + pages};
  }
  return std::nullopt;
}

std::optional<Failure> CpuCall::left_behind(uint64_t run, int threads, Outside& outside) {
  const bool first = run == 1;
  const ProcessState& before = guard_.before();
  std::vector<std::string> list = before.changes(threads, first && !variant_.peer);
  outside.only = list.empty() || list == before.outside_changes(first && !variant_.peer);
  if (!list.empty()) {
    outside.changed = before.outside_now();
    before.restore(threads);
  }
  if (!uses(Detector::process_state)) list.clear();
  const size_t found = list.size();
  // A parallel region costs as much as a small kernel: the first run of a trial tells.
  if ((first || !list.empty()) && uses(Detector::workers_arithmetic))
    if (const std::string workers = mend_arithmetic_of_workers(threads); !workers.empty())
      list.push_back(workers);
  // A vendor library may keep its workers' tiles from call to call.
  if ((first || threads_ > 0) && !variant_.peer && uses(Detector::process_state))
    if (const std::string workers = release_tiles_of_workers(threads); !workers.empty())
      list.push_back(workers);
  outside.only = outside.only && list.size() == found;
  if (list.empty()) return std::nullopt;
  return Failure{.fault = Fault::state, .note = joined(list)};
}

void CpuCall::say_where(const void* address, int bytes, Failure& failure) const {
  const auto* at = static_cast<const char*>(address);
  for (size_t k = 0; k < specs_.size(); ++k) {
    const auto* begin = tensors_[k].as<const char>();
    if (at < begin || at >= begin + tensors_[k].bytes()) continue;
    failure.tensor = specs_[k].name;
    failure.index = index_text((at - begin) / size_of(specs_[k].element), specs_[k].dims);
    return;
  }
  failure.note = fmt::format("{} bytes of the variant's own memory: ", bytes);
}

std::optional<Failure> CpuCall::race(uint64_t run) {
  std::optional<ThreadRace> seen;
  Outside outside;
  {
    RaceWatch watch;
    // What else it does wrong is seen in the usual form, which has passed.
    static_cast<void>(once(run, outside));
    for (size_t k = 0; k < specs_.size(); ++k)
      if (specs_[k].role != Role::input) watch.read(tensors_[k].data(), size_t(tensors_[k].bytes()));
    seen = watch.first();
    writers_ = watch.writers();
    all_watched_ = watch.complete();
  }
  if (!seen) return std::nullopt;
  const bool late =
      seen->earlier.pc == nullptr || seen->later.pc == nullptr;  // the other side is the caller's
  Failure failure{.fault = late ? Fault::late : Fault::race};
  say_where(seen->address, seen->bytes, failure);
  if (late) {
    failure.note += did(seen->earlier.pc != nullptr ? seen->earlier : seen->later) +
                    " by a thread that the call does not wait for";
    return failure;
  }
  const std::string one = did(seen->earlier), other = did(seen->later);
  failure.note += one == other ? fmt::format("{} by two threads", one)
                               : fmt::format("{} by one thread and {} by another", one, other);
  failure.note += ", and nothing orders the two";
  return failure;
}

}  // namespace klab
