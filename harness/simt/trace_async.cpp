// Order by barriers in shared memory and by agents (async_order.h), and the accesses of agents to memory.
#include <algorithm>
#include <cstring>

#include "harness/simt/cluster.h"
#include "harness/simt/modules.h"
#include "harness/simt/recording.h"
#include "harness/simt/seen_quickly.h"
#include "harness/simt/trace.h"

namespace klab::simt {

void Trace::turn_on_async() {
  if (!async_.on())
    async_.turn_on(executor_->threads(), executor_->warps(), interval_,
                   cluster_ != nullptr ? cluster_->blocks() : 0,
                   cluster_ != nullptr ? &cluster_->readers : nullptr);
}

uint16_t Trace::new_agent(AgentKind kind) {
  turn_on_async();
  return async_.new_agent(kind);
}

AsyncClocks Trace::released() {
  turn_on_async();
  const Lane& me = *executor_->lane;
  WarpClock& clock = clocks_[me.warp];
  // As for a fence: later accesses have a larger clock.
  if (clock.now < kMostFences) ++clock.now;
  AsyncClocks all = async_.of(me.warp, interval_);
  cover(all.threads, me.thread,
        {interval_, uint16_t(clock.now < kMostFences ? clock.now : 0xFFFF), clock.full});
  return all;
}

void Trace::acquired(const AsyncClocks& clocks) {
  turn_on_async();
  async_.of(executor_->lane->warp, interval_).merge(clocks);
  if (waited_for_launch_) executor_->lane->waited_for_launch = true;
}

void Trace::agent_known(uint16_t agent, uint16_t until) {
  ThreadClocks& known = async_.of(executor_->lane->warp, interval_).agents;
  const size_t which = agent & 0xFFFU;
  if (known.size() <= which) known.resize(which + 1, 0);
  known[which] = std::max(known[which], until);
}

void Trace::proxy_fenced() { async_.fenced(released()); }

AsyncOrder::Moment Trace::now() const {
  const Lane& me = *executor_->lane;
  return {interval_, uint16_t(me.thread), clocks_[me.warp].now};
}

bool Trace::comes_before_me(const AsyncOrder::Moment& m) const {
  return ordered(m.interval, m.thread, m.sync);
}

bool Trace::readers_are_over(uint32_t interval, uint16_t set) const {
  const unsigned warp = executor_->lane->warp;
  return std::ranges::all_of(async_.readers()[set], [&](const ReaderSets::Reader& r) {
    const uint32_t when = r.interval != 0 ? r.interval : interval;
    const bool mine = cluster_ == nullptr || is_of_my_block(when);
    if (AsyncOrder::is_agent(r.who))
      return mine ? async_.is_over(warp, when, r.who, r.sync) : ordered(when, r.who, r.sync);
    if (mine && when != interval_) return true;
    for (uint32_t rest = r.lanes; rest != 0; rest &= rest - 1) {
      const unsigned thread = (r.who & 0xFFU) * 32 + unsigned(__builtin_ctz(rest));
      if (thread >= executor_->threads()) break;
      if (!ordered(when, uint16_t(thread), r.sync)) return false;
    }
    return true;
  });
}

bool Trace::agent_reads_word(Cell& c, const char* word, uint16_t agent, uint16_t sync, uint32_t when,
                             uint16_t site, const char* file, int line) {
  const auto found = [&](Kind kind, const std::string& text) {
    executor_->report({.kind = kind, .file = file, .line = line, .text = text});
    return false;
  };
  const std::string what = AsyncOrder::kind_of(agent) == AgentKind::products ? "wgmma" : "a bulk copy";
  if (c.in_flight)
    return found(
        Kind::missing_wait,
        what + " reads shared memory that an asynchronous copy may not have filled yet: " +
            (AsyncOrder::is_agent(c.writer) ? "the phase of the mbarrier that it completes is not over"
                                            : "the thread that copied has not waited for it"));
  if (c.defined != 0xF)
    return found(Kind::uninitialized, what + " reads shared memory that nothing has written");
  if (c.write_interval != 0 && !ordered(c.write_interval, c.writer, c.write_sync)) {
    race(c, true, word, 4, kRead | kAsync, site, true);
    return false;
  }
  if (c.write_interval != 0 && !AsyncOrder::is_agent(c.writer) && !is_fenced(c))
    return found(Kind::missing_wait,
                 what + " reads shared memory that " + who(c.write_interval, c.writer) + " wrote at line " +
                     std::to_string(source_of(place_of(c.write_site)).line) +
                     " with no fence.proxy.async behind the write: the asynchronous proxy may not see it");
  if (c.by_agent && c.reader == agent && c.read_sync == sync) return true;
  if (c.read_interval == 0 || ordered(c.read_interval, c.reader, c.read_sync)) {
    c.reader = agent;
    c.read_sync = sync;
  } else {
    c.read_sync = async_.readers().add(
        {c.reader == Cell::kBlock ? agent : c.reader, c.read_sync, reader_interval(c.read_interval)},
        {agent, sync, reader_interval(when)});
    c.reader = AsyncOrder::kSeveral;
  }
  c.by_agent = true;
  c.read_atomic = c.read_volatile = false;
  c.read_interval = when;
  c.read_site = site;
  return true;
}

bool Trace::agent_reads(const char* p, size_t bytes, uint16_t agent, uint16_t sync, const void* pc,
                        const char* file, int line, Trace* owner) {
  turn_on_async();
  settle();
  const uint16_t site = site_of(pc, Space::shared, kRead | kAsync, 16);
  const uint32_t when = owner != nullptr ? owner->interval_ : interval_;
  for (const char* at = p; at < p + bytes; at += 4) {
    Cell& c = shared_cell(at);
    if (split_shared_.has(c.split)) {
      for (unsigned b = 0; b < 4; ++b) {
        Cell& byte = split_shared_[c.split][b];
        byte.defined = c.defined;
        if (!agent_reads_word(byte, at + b, agent, sync, when, site, file, line)) return false;
      }
      c.read_interval = when;
    } else if (!agent_reads_word(c, at, agent, sync, when, site, file, line)) {
      return false;
    }
  }
  return true;
}

void Trace::barrier_written(char* p, const void* pc) {
  turn_on_async();
  settle();
  const uint16_t site = site_of(pc, Space::shared, kWrite, 8);
  for (char* at = p; at < p + 8; at += 4) watch(shared_cell(at), at, 0, 4, kWrite, site, true);
  settle();
}

/// Returns false if the write is wrong, and has been reported.
bool Trace::agent_may_write(const Cell& c, const char* word, uint16_t site, bool reduces) {
  if (reduces && c.defined != 0xF && !c.in_flight) {
    Finding f{.kind = Kind::uninitialized,
              .text = "an asynchronous reduction in shared memory that nothing has written"};
    place(f, place_of(site));
    executor_->report(std::move(f));
    return false;
  }
  // Reductions are made in any order (PTX manual, "red.async": .relaxed).
  const bool any_order = reduces && c.write_atomic && AsyncOrder::is_agent(c.writer);
  if (c.in_flight && !any_order) {
    Finding f{.kind = Kind::missing_wait,
              .text = "a bulk copy to shared memory to which another asynchronous copy is still in flight"};
    place(f, place_of(site));
    executor_->report(std::move(f));
    return false;
  }
  for (const bool with_writer : {true, false}) {
    const uint32_t interval = with_writer ? c.write_interval : c.read_interval;
    if (interval == 0 || (with_writer && any_order) ||
        ordered(interval, with_writer ? c.writer : c.reader, with_writer ? c.write_sync : c.read_sync))
      continue;
    race(c, with_writer, word, 4, kWrite | kAsync, site, true);
    return false;
  }
  return true;
}

void Trace::agent_writes(char* p, size_t bytes, uint16_t agent, uint16_t sync, const void* pc, Trace* owner,
                         bool reduces) {
  turn_on_async();
  settle();
  const uint16_t site = site_of(pc, Space::shared, kWrite | kAsync, 16);
  if (owner != nullptr) owner_ = owner;
  bool good = true;  // one finding is enough
  for (char* at = p; at < p + bytes; at += 4) {
    Cell& c = owner_->shared_cell(at);
    if (SplitCells& split = owner_->split_shared_; split.has(c.split)) {
      for (unsigned b = 0; b < 4 && good; ++b)
        good = agent_may_write(split[c.split][b], at + b, site, reduces);
      c.read_interval = 0;
    } else {
      good = good && agent_may_write(c, at, site, reduces);
    }
    c.split = 0;
    c.writer = agent;
    c.write_sync = sync;
    c.write_interval = owner_->interval_;
    c.write_site = site;
    c.write_atomic = reduces;
    c.write_volatile = false;
    c.by_agent = c.in_flight = true;
  }
  owner_ = this;
}

void Trace::agent_takes(char* p, size_t bytes, uint16_t agent, uint16_t sync) {
  for (char* at = p; at < p + bytes; at += 4) {
    Cell& c = shared_cell(at);
    c.writer = agent;
    c.write_sync = sync;
    c.by_agent = true;
  }
}

void Trace::agent_landed(char* p, size_t bytes, uint16_t sync) {
  for (char* at = p; at < p + bytes; at += 4) {
    Cell& c = shared_cell(at);
    c.in_flight = false;
    c.write_sync = sync;
    c.defined = 0xF;
  }
}

void Trace::copy_engine_accesses(const char* p, size_t bytes, bool write, const void* pc, bool atomic) {
  settle();
  const auto how = uint8_t((write ? kWrite : kRead) | kAsync | (atomic ? kAtomic : 0));
  const uint16_t site = site_of(pc, Space::global, how, unsigned(bytes));
  Allocation* const a = is_device(p) ? allocation_at(p) : device_variable_at(p);
  if (a == nullptr || !a->live || a->given_back || p < a->begin || p + bytes > a->begin + a->bytes)
    return illegal(p, bytes, how, pc);
  if (recording_ != nullptr) recording_->engine_range(*executor_, p, bytes, write);
  Cell* const cells = shadow_of(*a);
  executor_->access = {p, bytes};
  for (const char *at = p, *end = p + bytes; at < end;) {
    const size_t in_word = size_t(at - a->begin) % 4, n = std::min<size_t>(4 - in_word, size_t(end - at));
    Cell& cell = cells[size_t(at - a->begin) / 4];
    char* const word = const_cast<char*>(at - in_word);
    if (grid_ != nullptr)
      watch_held(cell, word, unsigned(in_word), unsigned(in_word + n), how, site);
    else if (n < 4 || atomic || !seen_quickly(cell, word, write, site, *executor_->lane))
      watch(cell, word, unsigned(in_word), unsigned(in_word + n), how, site, false);
    at += n;
  }
}

void Trace::copy_engine_counts(bool write, size_t width, int64_t bytes, int64_t sectors, const void* pc) {
  if (!counting_) return;
  Site& site =
      (*profile_)[site_of(pc, Space::global, uint8_t((write ? kWrite : kRead) | kAsync), unsigned(width))];
  site.async = true;
  const int64_t ideal = (bytes + 31) / 32;
  const Counts cost{.requests = 1,
                    .lanes = 1,
                    .bytes = bytes,
                    .sectors = sectors,
                    .ideal_sectors = ideal,
                    .lane_sectors = ideal};
  site.counts.add(cost);
  if (recording_ != nullptr) recording_->engine_request(site, cost);
}

}  // namespace klab::simt
