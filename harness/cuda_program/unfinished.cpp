#include "harness/cuda_program/unfinished.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>

#include "harness/simt/background.h"
#include "harness/simt/trace.h"

namespace klab::program {
namespace {

struct Left {
  uint64_t stream = 0, number = 0;
  uint32_t first = 0;
  int line = 0;
};

/// Requires the lock of the state.
Left& left() {
  static Left one;
  return one;
}
std::deque<Submitted>& kept() {
  static auto& list = *new std::deque<Submitted>;
  return list;
}
std::atomic<bool> any_unfinished{false};

void count_unfinished() { any_unfinished = left().number != 0 || !kept().empty(); }

bool comes_behind(uint64_t stream, const StreamClock& before, uint64_t other, uint64_t number) {
  return stream == other || before.covers(other, number);
}

std::string of_line(int line) { return line > 0 ? " of line " + std::to_string(line) : ""; }

/// Says why nothing can write what the launch waits for, once the running call waits for the launch.
simt::Standstill standstill(bool on_gpu) {
  simt::Standstill s{.on_gpu = on_gpu};
  const auto launch = std::ranges::find_if(kept(), [&](const Submitted& w) {
    return !w.meanwhile && !comes_behind(w.stream->id, w.before, left().stream, left().number);
  });
  const int waits = place_of_call().line;
  const std::string at = waits > 0 ? " at line " + std::to_string(waits) : "";
  if (launch != kept().end()) {
    s.on_gpu = false;
    s.why = "The launch" + of_line(launch->line) +
            " in another stream could write it, but kernels run one at a time here";
  } else if (!on_gpu) {
    s.why = "The call of the runtime" + at + " waits for the launch here";
  } else {
    s.why = "The host waits for the launch" + of_line(left().line) + at;
    const auto copy = std::ranges::find(kept(), true, &Submitted::meanwhile);
    if (copy != kept().end())
      s.why +=
          ", and the copy or call" + of_line(copy->line) + " comes behind the launch in the order of streams";
  }
  return s;
}

/// Runs what no unfinished work comes before. Requires the lock of the state.
void run_kept() {
  std::exception_ptr error;
  for (size_t k = 0; k < kept().size();) {
    const Submitted& w = kept()[k];
    const bool waits =
        (left().number != 0 &&
         (!w.meanwhile || comes_behind(w.stream->id, w.before, left().stream, left().number))) ||
        std::any_of(kept().begin(), kept().begin() + std::ptrdiff_t(k), [&](const Submitted& earlier) {
          return comes_behind(w.stream->id, w.before, earlier.stream->id, earlier.number);
        });
    if (waits) {
      ++k;
      continue;
    }
    const Submitted next = std::move(kept()[k]);
    kept().erase(kept().begin() + std::ptrdiff_t(k));
    try {
      run_submitted(next);
    } catch (...) {
      if (!error) error = std::current_exception();
    }
    k = 0;
  }
  count_unfinished();
  if (error) std::rethrow_exception(error);
}

}  // namespace

bool has_unfinished() { return any_unfinished; }

bool is_unfinished(uint64_t stream, const StreamClock& before) {
  if (!has_unfinished()) return false;
  if (left().number != 0 && comes_behind(stream, before, left().stream, left().number)) return true;
  return std::ranges::any_of(
      kept(), [&](const Submitted& w) { return comes_behind(stream, before, w.stream->id, w.number); });
}

void require_finished(uint64_t stream, const StreamClock& before) {
  if (is_unfinished(stream, before)) throw MustWait{};
}

bool is_kept(const Submitted& work) {
  if (!has_unfinished()) return false;
  if (work.meanwhile && !is_unfinished(work.stream->id, work.before)) return false;
  kept().push_back(work);
  return true;
}

void left_launch(uint64_t stream, uint64_t number, uint32_t first_interval, int line) {
  left() = {stream, number, first_interval, line};
  count_unfinished();
}

void finish_all(bool on_gpu) {
  if (!has_unfinished()) return simt::wait_for_background();
  while (has_unfinished()) {
    simt::Standstill otherwise;
    {
      const std::lock_guard lock(state().mutex);
      otherwise = standstill(on_gpu);
    }
    std::exception_ptr error;
    // Without the lock, which other threads of the host need to write what the launch waits for.
    try {
      simt::wait_for_background(otherwise);
    } catch (const simt::Error&) {
      error = std::current_exception();
    }
    const std::lock_guard lock(state().mutex);
    if (left().number != 0 && !simt::launch_is_left()) {
      launch_took_until(left().first, simt::Trace::new_intervals(1));
      left() = {};
    }
    if (error) kept().clear();
    count_unfinished();
    if (error) {
      synchronized(nullptr, true);  // the host has waited
      std::rethrow_exception(error);
    }
    run_kept();
  }
}

void look_after_unfinished() {
  if (has_unfinished() && (simt::left_launch_has_ended() || !simt::launch_is_left())) finish_all(true);
}

}  // namespace klab::program
