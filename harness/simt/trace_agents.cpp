#include "harness/simt/trace_agents.h"

#include <algorithm>
#include <string>
#include <utility>

#include "harness/simt/modules.h"
#include "harness/simt/recording.h"

namespace klab::simt {

bool TraceAgents::agent_reads_word(Cell& c, const char* word, uint16_t agent, uint16_t sync, uint32_t when,
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

bool TraceAgents::agent_reads(const char* p, size_t bytes, uint16_t agent, uint16_t sync, const void* pc,
                              const char* file, int line, const TraceAgents* owner) {
  turn_on_async();
  settle();
  const uint16_t site = site_of(pc, Space::shared, kRead | kAsync, 16);
  const uint32_t when = owner != nullptr ? owner->interval_ : interval_;
  for (const char* at = p; at < p + bytes; at += 4) {
    Cell& c = shared_.cell(at);
    if (shared_.split.has(c.split)) {
      for (unsigned b = 0; b < 4; ++b) {
        Cell& byte = shared_.split[c.split][b];
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

void TraceAgents::barrier_written(char* p, const void* pc) {
  turn_on_async();
  settle();
  const uint16_t site = site_of(pc, Space::shared, kWrite, 8);
  for (char* at = p; at < p + 8; at += 4) watch(shared_.cell(at), at, 0, 4, kWrite, site, true);
  settle();
}

bool TraceAgents::agent_may_write(Cell& c, const char* word, uint16_t site, bool reduces) {
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

void TraceAgents::agent_writes(char* p, size_t bytes, uint16_t agent, uint16_t sync, const void* pc,
                               TraceAgents* owner, bool reduces) {
  turn_on_async();
  settle();
  const uint16_t site = site_of(pc, Space::shared, kWrite | kAsync, 16);
  const TraceAgents& of = owner != nullptr ? *owner : *this;
  owner_ = owner != nullptr ? &owner->shared_ : &shared_;
  bool good = true;  // one finding is enough
  for (char* at = p; at < p + bytes; at += 4) {
    Cell& c = owner_->cell(at);
    if (SplitCells& split = owner_->split; split.has(c.split)) {
      for (unsigned b = 0; b < 4 && good; ++b)
        good = agent_may_write(split[c.split][b], at + b, site, reduces);
      c.read_interval = 0;
    } else {
      good = good && agent_may_write(c, at, site, reduces);
    }
    c.split = 0;
    c.writer = agent;
    c.write_sync = sync;
    c.write_interval = of.interval_;
    c.write_site = site;
    c.write_atomic = reduces;
    c.write_volatile = false;
    c.by_agent = c.in_flight = true;
  }
  owner_ = &shared_;
}

void TraceAgents::agent_takes(char* p, size_t bytes, uint16_t agent, uint16_t sync) {
  for (char* at = p; at < p + bytes; at += 4) {
    Cell& c = shared_.cell(at);
    c.writer = agent;
    c.write_sync = sync;
    c.by_agent = true;
  }
}

void TraceAgents::agent_landed(char* p, size_t bytes, uint16_t sync) {
  for (char* at = p; at < p + bytes; at += 4) {
    Cell& c = shared_.cell(at);
    c.in_flight = false;
    c.write_sync = sync;
    c.defined = 0xF;
  }
}

void TraceAgents::copy_engine_accesses(const char* p, size_t bytes, bool write, const void* pc, bool atomic) {
  settle();
  const auto how = uint8_t((write ? kWrite : kRead) | kAsync | (atomic ? kAtomic : 0));
  const uint16_t site = site_of(pc, Space::global, how, unsigned(bytes));
  Allocation* const a = is_device(p) ? allocation_at(p) : device_variable_at(p);
  if (a == nullptr || !a->live || a->given_back || p < a->begin || p + bytes > a->begin + a->bytes)
    return illegal(p, bytes, how, pc);
  if (Recording* const recording = count_.recording(); recording != nullptr)
    recording->engine_range(*executor_, p, bytes, write);
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

void TraceAgents::engine_pending(const char* p, size_t bytes, bool pending) {
  Allocation* const a = is_device(p) ? allocation_at(p) : device_variable_at(p);
  if (a == nullptr || p < a->begin || p + bytes > a->begin + a->bytes) return;
  Cell* const cells = shadow_of(*a);
  for (size_t word = size_t(p - a->begin) / 4; word <= size_t(p + bytes - 1 - a->begin) / 4; ++word) {
    if (grid_ != nullptr) {
      const HeldCell held(cells[word]);
      cells[word].in_flight = pending;
    } else {
      cells[word].in_flight = pending;
    }
  }
}

}  // namespace klab::simt
