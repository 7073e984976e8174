// A CPU variant's call, and what is seen around it: memory, threads, the state of the process.
#include <fmt/core.h>
#include <malloc.h>
#include <omp.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>

#include "harness/check/detectors.h"
#include "harness/check/run_case.h"
#include "harness/check/thread_watch.h"
#include "harness/core/element.h"

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

/// "3 of 64 elements were never written: row 2", of what describe_wrong() says of them.
std::string unwritten(std::string what) {
  for (const auto& [from, to] : {std::pair<std::string, std::string>{" are wrong", " were never written"},
                                 {" is wrong", " was never written"}})
    if (const size_t at = what.find(from); at != std::string::npos) what.replace(at, from.size(), to);
  return what;
}

std::string joined(const std::vector<std::string>& list) {
  std::string text;
  for (const std::string& part : list) text += (text.empty() ? "" : "; ") + part;
  return text;
}

}  // namespace

// `renice`, `taskset` and the like change a process while it runs, and its other threads may close files. So a call after which
// only something of that kind differs is repeated: a kernel that did it does it again.
std::optional<Failure> Trial::call_on_cpu(const Given& given) {
  Outside first, second;
  auto failure = call_on_cpu_once(given, first);
  if (!failure || !first.only) return failure;
  const bool replaced = first.closed >= 0 && replace_file(first.closed);
  if (first.changed) guard_.adopt_outside(*guard_.before().outside_now());
  prepare(given);
  failure = call_on_cpu_once(given, second);
  if (replaced && second.closed < 0) close(first.closed);
  if (!failure && first.changed) guard_.adopt_outside(*first.changed);
  return failure;
}

std::optional<Failure> Trial::call_on_cpu_once(const Given& given, Outside& outside) {
  const int usual = omp_get_max_threads(), threads = threads_ > 0 ? threads_ : usual;
  use_threads(threads);
  for (size_t k = 0; k < specs_.size(); ++k) tensors_[k].read_only(specs_[k].role == Role::input);
  const ThreadWatch watch(threads, runs_ == 1);
  const int file = next_file();
  std::optional<Failure> failure, thrown;
  watch_memory();
  try {
    if (uses(Detector::stack)) poison_stack();
    const GarbageInMemory garbage(runs_ + 1, runs_ == 1);
    if (const auto crash = guard_.survive(call_))
      failure = describe({.fault = Fault::crashed, .note = *crash}, given);
  } catch (const std::exception& e) {
    thrown = describe({.fault = Fault::threw, .note = e.what()}, given);
  } catch (...) {
    thrown = describe({.fault = Fault::threw, .note = "not a std::exception"}, given);
  }
  std::string left = watch.still_running(), many;
  if (uses(Detector::thread_count)) many = watch.too_many();
  if (!uses(Detector::threads_that_stay)) left.clear();
  threads_seen_ = watch.most();
  const auto first = [&](std::optional<Failure> other) {
    if (!failure) failure = std::move(other);
  };
  if (!left.empty()) first(works_on(left, given));
  first(touched(take_memory_faults(), given));
  first(std::move(thrown));
  // A vendor library may have settled its threads when it was set up.
  if (!many.empty() && !variant_.peer) first(describe({.fault = Fault::threads, .note = many}, given));
  const bool looks_at_files = !variant_.peer && uses(Detector::process_state);
  if (const std::string files = file_left(file); !files.empty() && looks_at_files)
    first(describe({.fault = Fault::state, .note = files}, given));
  const bool faultless = !failure;
  if (const int closed = file_closed(file); closed >= 0 && looks_at_files) {
    outside.closed = closed;
    first(describe(
        {.fault = Fault::state, .note = fmt::format("a file that was open is closed: number {}", closed)},
        given));
  }
  first(left_behind(threads, given, outside));
  outside.only = outside.only && faultless;
  if (!left.empty() && !watch.wait_for_end(kPatience)) abandoned_ = true;
  if (threads != usual) omp_set_num_threads(usual);
  return failure;
}

/// What it has done after it returned, in as much time as it is given for it.
std::optional<Failure> Trial::works_on(const std::string& how, const Given& given) {
  const auto at_return = outputs();
  // A thread that still writes to an input must not end the process.
  for (size_t k = 0; k < tensors_.size(); ++k) tensors_[k].read_only(false);
  for (int look = 0; look < 20 && outputs() == at_return; ++look)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return describe({.fault = Fault::late,
                   .note = how + " after it has returned" +
                           (outputs() == at_return ? "" : ", and has written to the outputs since")},
                  given);
}

/// The first access that should not have been, in words, and of which tensor.
std::optional<Failure> Trial::touched(const std::vector<MemoryFault>& faults, const Given& given) const {
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
        return describe(
            {.fault = Fault::out_of_bounds, .tensor = specs_[k].name, .note = did + " " + place + pages},
            given);
      const int64_t i = (f.at - tensors_[k].as<std::byte>()) / size_of(specs_[k].element);
      return describe({.fault = Fault::input_changed,
                       .tensor = specs_[k].name,
                       .index = index_text(i, specs_[k].dims),
                       .note = "an input is written to, whatever stands there afterwards"},
                      given);
    }
    return describe({.fault = Fault::out_of_bounds, .note = did + " where there is no memory" + pages},
                    given);
  }
  return std::nullopt;
}

std::optional<Failure> Trial::left_behind(int threads, const Given& given, Outside& outside) {
  const bool first = runs_ == 1;
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
  return describe({.fault = Fault::state, .note = joined(list)}, given);
}

/// Elements that still hold what outputs are poisoned with, where that is no answer.
std::optional<Failure> Trial::never_written(const Given& given) const {
  for (size_t k = 0; k < specs_.size(); ++k) {
    const TensorSpec& spec = specs_[k];
    if (spec.role != Role::output) continue;
    const auto width = size_t(size_of(spec.element));
    const char byte = poison_of(spec);
    const std::vector<char> poison(width, byte);
    const Element wide = spec.element == Element::f32 ? Element::f64 : spec.element;
    std::vector<int64_t> missing;
    for (int64_t i = 0, n = volume(spec.dims); i < n; ++i) {
      const char* at = tensors_[k].as<char>() + size_t(i) * width;
      if (*at != byte || std::memcmp(at, poison.data(), width) != 0) continue;
      const double want = load(wide, given.reference[k].data(), i);
      const bool answer = is_integer(spec.element) && want == load(spec.element, tensors_[k].data(), i);
      if (!answer && !std::isnan(want)) missing.push_back(i);
    }
    if (missing.empty()) continue;
    return describe({.fault = Fault::not_written,
                     .tensor = spec.name,
                     .index = index_text(missing.front(), spec.dims),
                     .expected = element_text(spec, given.reference[k], missing.front(), true),
                     .got = "what was there before",
                     .note = unwritten(describe_wrong(missing, spec.dims))},
                    given);
  }
  return std::nullopt;
}

}  // namespace klab
