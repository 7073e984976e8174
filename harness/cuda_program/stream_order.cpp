// Finds work in one stream that uses memory which work in another has written, or reads, with nothing that orders the
// two. Work runs when it is submitted, so the results are those of one order among several.
#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>

#include "harness/cuda_program/stream_state.h"
#include "harness/cuda_program/unfinished.h"
#include "harness/simt/background.h"
#include "harness/simt/cluster_api.h"
#include "harness/simt/trace.h"

namespace klab::program {

void StreamClock::add(uint64_t stream, uint64_t number) {
  const auto at = std::ranges::find_if(list_, [=](const auto& e) { return e.first == stream; });
  if (at == list_.end())
    list_.emplace_back(stream, number);
  else
    at->second = std::max(at->second, number);
}

void StreamClock::add(const StreamClock& other) {
  for (const auto& [stream, number] : other.list_) add(stream, number);
}

bool StreamClock::covers(uint64_t stream, uint64_t number) const {
  return std::ranges::any_of(list_, [=](const auto& e) { return e.first == stream && e.second >= number; });
}

namespace {

struct Done {
  uint64_t stream, number;
  simt::EarlierWork work;
};

/// What the host has not waited for, oldest first.
std::deque<Done>& pending() {
  static auto& list = *new std::deque<Done>;
  return list;
}
/// The oldest is forgotten beyond that many.
constexpr size_t kMostPending = 256;

struct Running {
  CUstream_st* stream = nullptr;
  uint64_t number = 0;
  std::vector<simt::EarlierWork> unordered;  // earlier work that it is not ordered behind
  int line = 0;
} running_work;

std::string at_line(int line) { return line > 0 ? " at line " + std::to_string(line) : ""; }

void remember(uint32_t first, uint32_t end, const std::string& what) {
  const CUstream_st& s = *running_work.stream;
  if (pending().size() >= kMostPending) pending().pop_front();
  pending().push_back({s.id, running_work.number, {first, end, what}});
}

bool counts() { return running_work.stream != nullptr && has_streams(); }

}  // namespace

void host_waited_for(const StreamClock& work) {
  std::erase_if(pending(), [&](const Done& d) { return work.covers(d.stream, d.number); });
}
void host_waited_for_all() { pending().clear(); }

void launch_took_until(uint32_t first, uint32_t end) {
  for (Done& d : pending())
    if (d.work.first == first) d.work.end = end;
}

void run_in(CUstream_st& s, const std::vector<CUstream_st*>& others, const Work& work, bool meanwhile) {
  for (const CUstream_st* o : others) {
    s.before.add(o->before);
    s.before.add(o->id, o->done);
  }
  s.done = ++state().work_number;
  int line = 0;
  if (has_streams() || has_unfinished() || simt::launch_is_left()) {
    const void* place = state().place_of_launch;
    line = (place != nullptr ? simt::source_of(place) : place_of_call()).line;
  }
  const Submitted submitted{&s, s.done, s.before, line, meanwhile, work};
  if (!is_kept(submitted)) run_submitted(submitted);
}

void run_submitted(const Submitted& what) {
  const CUstream_st& s = *what.stream;
  Running before = std::exchange(running_work, {what.stream, what.number, {}, what.line});
  if (has_streams())
    for (const Done& d : pending())
      if (d.stream != s.id && !what.before.covers(d.stream, d.number))
        running_work.unordered.push_back(d.work);
  const struct Back {
    Running& before;
    ~Back() { running_work = std::move(before); }
  } back{before};
  what.work();
}

namespace {

/// The launch before in each stream, and earlier ones that it has not waited for.
std::map<uint64_t, std::vector<simt::EarlierWork>>& launches_before() {
  static auto& list = *new std::map<uint64_t, std::vector<simt::EarlierWork>>;
  return list;
}

}  // namespace

void launch_in_stream(const simt::Launch& launch, const std::string& kernel, const LaunchExtras& extras,
                      bool non_portable) {
  const auto runs = [&] {
    if (extras.cluster[0] == 0) return simt::launch(launch);
    simt::launch_clusters(launch, extras.cluster, non_portable);
  };
  const int line = running_work.line;
  std::vector<simt::EarlierWork>& before =
      launches_before()[running_work.stream != nullptr ? running_work.stream->id : 0];
  // Kept for a launch that is left in the background, which is over before the next one begins.
  static std::unique_ptr<simt::InStreams> of_launch;
  of_launch = std::make_unique<simt::InStreams>(simt::InStreams{{}, at_line(line)});
  simt::InStreams& place = *of_launch;
  if (counts()) place.unordered = running_work.unordered;
  if (extras.overlaps) place.unordered.insert(place.unordered.end(), before.begin(), before.end());
  std::ranges::sort(place.unordered, {}, &simt::EarlierWork::first);
  const struct Set {
    explicit Set(const simt::InStreams* one) { simt::in_streams = one; }
    ~Set() { simt::in_streams = nullptr; }
  } set{place.unordered.empty() && !counts() ? nullptr : &place};
  const uint32_t first = simt::Trace::new_intervals(1);
  simt::launch_before_was_waited_for = simt::next_launch_was_triggered = false;
  runs();
  const uint32_t end = simt::Trace::new_intervals(1);
  const std::string what = "kernel " + kernel + (line > 0 ? ", launched" + at_line(line) + "," : "");
  if (counts()) remember(first, end, what);
  if (running_work.stream != nullptr && simt::launch_is_left())
    left_launch(running_work.stream->id, running_work.number, first, line);
  // A launch that never waits lets the next one overtake the launch before it, too.
  if (!extras.overlaps || simt::launch_before_was_waited_for) before.clear();
  // One that triggers nothing ends before the next one begins.
  if (simt::next_launch_was_triggered)
    before.push_back({first, end, "kernel " + kernel + " of the launch before", true});
}

void touches_in_stream(const void* p, size_t bytes, bool write) {
  if (!counts() || !simt::is_device(p) || bytes == 0) return;
  simt::Allocation* a = simt::allocation_at(p);
  if (a == nullptr || !a->live || a->home == simt::Home::pinned) return;
  const uint32_t now = simt::Trace::new_intervals(2);
  const auto offset = size_t(static_cast<const char*>(p) - a->begin);
  simt::Cell* cells = simt::shadow_of(*a);
  // A launch that waits for something goes on meanwhile.
  const bool meanwhile = simt::launch_is_left();
  const std::string what = std::string(write ? "the copy or fill" : "the copy") + at_line(running_work.line);
  if (meanwhile) simt::done_meanwhile({now, now + 2, what});
  bool told = false;
  const auto check = [&](uint32_t interval, bool other_writes) {
    if (told || interval == 0) return;
    for (const simt::EarlierWork& w : running_work.unordered) {
      if (interval < w.first || interval >= w.end) continue;
      told = true;
      add_host_finding(simt::Kind::not_synchronized,
                       std::string(write ? "writes " : "reads ") + a->name + ", which " + w.what +
                           (other_writes ? " has written" : " has read") +
                           " in another stream; nothing orders this call behind it (cudaStreamWaitEvent, "
                           "cudaStreamSynchronize)");
      return;
    }
  };
  // Words of which a part is accessed are left alone: whose the other bytes are is not known.
  for (size_t w = (offset + 3) / 4; w < (offset + bytes) / 4; ++w) {
    simt::Cell& c = cells[w];
    std::optional<simt::HeldCell> held;
    if (meanwhile) held.emplace(c);
    if (c.split == 0) {
      // What a kernel that runs reads or writes by atomics or as volatile is a flag.
      if (!(meanwhile && c.write_atomic)) check(c.write_interval, true);
      if (write && !(meanwhile && c.read_atomic)) check(c.read_interval, false);
    }
    c.split = 0;
    (write ? c.write_interval : c.read_interval) = now;
    if (write) {
      c.writer = 0;
      c.write_atomic = c.write_fenced = meanwhile;
    } else {
      c.reader = simt::Cell::kGrid;
      c.read_atomic = meanwhile;
    }
  }
  remember(now, now + 1, what);
}

}  // namespace klab::program
