#include "harness/simt/timeline.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace klab::simt {
namespace {

/// Puts the events of a block in the order of steps.
class Steps {
 public:
  Steps(const RecordedBlock& block, const std::vector<RecordedAccess>& accesses)
      : block_(block),
        accesses_(accesses),
        at_(block.warps.size(), 0),
        clock_(block.warps.size(), 0),
        state_(block.warps.size()) {
    line_.warps.resize(block.warps.size());
    for (const auto& events : block.warps)
      for (const BlockEvent& e : events)
        if (e.what == Note::arrive || e.what == Note::follow || e.what == Note::bulk)
          ++phase(e.barrier, e.value).wanted;
  }

  Timeline run() {
    const auto warps = unsigned(block_.warps.size());
    for (;;) {
      bool moved = false;
      for (unsigned w = 0; w < warps; ++w) moved = go_on(w) || moved;
      if (moved || meet()) continue;
      // Only a recording that was cut short leaves warps that wait for what it lacks.
      unsigned first = warps;
      for (unsigned w = 0; w < warps; ++w)
        if (at_[w] < block_.warps[w].size() && (first == warps || clock_[w] < clock_[first])) first = w;
      if (first == warps) break;
      ++at_[first];
    }
    finish();
    return std::move(line_);
  }

 private:
  struct Phase {
    unsigned wanted = 0, come = 0;  // arrivals, and copies that the phase waits for
    unsigned arrivals = 0, waits = 0;
    uint32_t first = ~0U, end = 0;
    std::vector<size_t> flights;
  };
  struct Group {
    uint32_t committed[32] = {};
    std::map<uint32_t, size_t> flights;  // by number: not waited for yet
  };
  struct Warp {
    std::array<Group, 3> groups;  // copies, stores, products
    uint32_t engine = 0;
  };

  Phase& phase(unsigned barrier, uint32_t number) { return phases_[{barrier, number}]; }

  void span(unsigned w, uint32_t steps, Doing what, int access, int line = 0, int barrier = -1) {
    if (steps == 0) return;
    std::vector<Span>& spans = line_.warps[w];
    const uint32_t begin = clock_[w];
    clock_[w] += steps;
    if (!spans.empty() && spans.back().what == what && spans.back().access == access &&
        spans.back().end == begin && what != Doing::waits) {
      spans.back().end = clock_[w];
      return;
    }
    spans.push_back({begin, clock_[w], what, access, line, barrier});
  }

  static size_t family(FlightKind kind) {
    return kind == FlightKind::copies ? 0 : kind == FlightKind::stores ? 1 : 2;
  }

  /// Adds to the open group of each of the lanes.
  void issue(unsigned w, FlightKind kind, uint32_t lanes, uint64_t bytes) {
    Group& g = state_[w].groups[family(kind)];
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
      const uint32_t number = g.committed[__builtin_ctz(rest)];
      const auto [at, fresh] = g.flights.try_emplace(number, line_.flights.size());
      if (fresh)
        line_.flights.push_back(
            {.kind = kind, .warp = w, .group = number, .issue = clock_[w], .commit = ~0U});
      line_.flights[at->second].bytes += bytes;
    }
  }

  void commit(unsigned w, FlightKind kind, uint32_t lanes) {
    Group& g = state_[w].groups[family(kind)];
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
      const auto at = g.flights.find(g.committed[__builtin_ctz(rest)]++);
      if (at != g.flights.end()) line_.flights[at->second].commit = clock_[w];
    }
  }

  void land(size_t flight, uint32_t when) {
    Flight& f = line_.flights[flight];
    f.land = std::max(f.landed ? f.land : 0, when);
    f.landed = true;
  }

  void wait(unsigned w, FlightKind kind, uint32_t lanes, uint32_t left) {
    Group& g = state_[w].groups[family(kind)];
    uint32_t until = 0;
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
      const uint32_t committed = g.committed[__builtin_ctz(rest)];
      until = std::max(until, committed > left ? committed - left : 0);
    }
    // The block of code that waits is a step of the wait: what is in flight meanwhile hides nothing.
    const std::vector<Span>& spans = line_.warps[w];
    const bool in_code = !spans.empty() && spans.back().what == Doing::code && spans.back().end == clock_[w];
    while (!g.flights.empty() && g.flights.begin()->first < until) {
      const size_t flight = g.flights.begin()->second;
      land(flight, std::max(line_.flights[flight].commit, clock_[w] - (in_code ? 1 : 0)));
      g.flights.erase(g.flights.begin());
    }
  }

  /// Something that a phase waits for.
  Phase& comes(unsigned w, const BlockEvent& e) {
    Phase& p = phase(e.barrier, e.value);
    ++p.come;
    p.first = std::min(p.first, clock_[w]);
    p.end = std::max(p.end, clock_[w]);
    return p;
  }

  /// Hands the copies of some lanes over to a phase of a barrier.
  void follow(unsigned w, const BlockEvent& e) {
    Group& g = state_[w].groups[0];
    Phase& p = comes(w, e);
    for (const auto& [number, flight] : g.flights) {
      Flight& f = line_.flights[flight];
      f.commit = std::min(f.commit, clock_[w]);
      f.barrier = e.barrier;
      f.phase = e.value;
      p.flights.push_back(flight);
    }
    // Copies that lanes make from here on are another group.
    if (!g.flights.empty()) {
      const uint32_t next = g.flights.rbegin()->first + 1;
      for (uint32_t& c : g.committed) c = std::max(c, next);
    }
    g.flights.clear();
  }

  void bulk(unsigned w, const BlockEvent& e) {
    comes(w, e).flights.push_back(line_.flights.size());
    line_.flights.push_back({.kind = FlightKind::engine,
                             .warp = w,
                             .group = state_[w].engine++,
                             .issue = clock_[w],
                             .commit = clock_[w],
                             .bytes = uint64_t(e.amount) * uint64_t(__builtin_popcount(e.lanes)),
                             .barrier = e.barrier,
                             .phase = e.value});
  }

  /// Returns false if the warp has to wait for others.
  bool waited(unsigned w, const BlockEvent& e) {
    if (e.value == 0) return true;  // for a phase before the first
    Phase& p = phase(e.barrier, e.value - 1);
    if (p.come < p.wanted) return false;
    span(w, std::max(clock_[w], p.end) - clock_[w], Doing::waits, -1, e.line, e.barrier);
    ++p.waits;
    for (const size_t f : std::exchange(p.flights, {})) {
      land(f, clock_[w]);
      p.end = std::max(p.end, clock_[w]);
    }
    return true;
  }

  static Doing doing(const RecordedAccess& a) {
    return a.copies ? Doing::copies : a.space == Space::shared ? Doing::shared : Doing::global;
  }

  bool step(unsigned w, const BlockEvent& e) {
    switch (e.what) {
      case Note::code:
        span(w, e.amount, Doing::code, -1);
        break;
      case Note::access: {
        const RecordedAccess& a = accesses_[e.value];
        // The part of cp.async that writes shared memory is the group's.
        if (a.copies && a.write) issue(w, FlightKind::copies, e.lanes, e.amount);
        span(w, 1, doing(a), int(e.value));
        break;
      }
      case Note::commit:
        commit(w, FlightKind::copies, e.lanes);
        break;
      case Note::wait:
        wait(w, FlightKind::copies, e.lanes, e.value);
        break;
      case Note::follow:
        follow(w, e);
        break;
      case Note::bulk:
        bulk(w, e);
        break;
      case Note::store:
        issue(w, FlightKind::stores, e.lanes, e.amount);
        break;
      case Note::store_commit:
        commit(w, FlightKind::stores, e.lanes);
        break;
      case Note::store_wait:
        wait(w, FlightKind::stores, e.lanes, e.value);
        break;
      case Note::product:
        issue(w, FlightKind::products, e.lanes, 0);
        break;
      case Note::product_commit:
        commit(w, FlightKind::products, e.lanes);
        break;
      case Note::product_wait:
        wait(w, FlightKind::products, e.lanes, e.value);
        break;
      case Note::arrive:
        ++comes(w, e).arrivals;
        break;
      case Note::waited:
        return waited(w, e);
      case Note::all_met:
      case Note::grid_met:
        return false;  // meet() lets all go on
    }
    return true;
  }

  bool go_on(unsigned w) {
    const std::vector<BlockEvent>& events = block_.warps[w];
    const size_t before = at_[w];
    while (at_[w] < events.size() && step(w, events[at_[w]])) ++at_[w];
    return at_[w] != before;
  }

  static bool is_meeting(const BlockEvent& e) { return e.what == Note::all_met || e.what == Note::grid_met; }

  /// Lets the warps go on that stand at a barrier of the whole block, once none that is to come stands elsewhere.
  bool meet() {
    uint32_t when = 0;
    bool any = false;
    for (size_t w = 0; w < at_.size(); ++w) {
      if (at_[w] >= block_.warps[w].size()) continue;
      if (!is_meeting(block_.warps[w][at_[w]])) return false;
      any = true;
      when = std::max(when, clock_[w]);
    }
    for (size_t w = 0; any && w < at_.size(); ++w) {
      if (at_[w] >= block_.warps[w].size()) continue;
      span(unsigned(w), when - clock_[w], Doing::waits, -1);
      ++at_[w];
    }
    return any;
  }

  void finish() {
    for (const uint32_t c : clock_) line_.steps = std::max(line_.steps, c);
    std::vector<uint8_t> any_busy(line_.steps + 1, 0);
    std::vector<std::vector<uint8_t>> busy(line_.warps.size(), any_busy);
    for (size_t w = 0; w < line_.warps.size(); ++w)
      for (const Span& s : line_.warps[w])
        for (uint32_t t = s.begin; s.what != Doing::waits && t < s.end; ++t) busy[w][t] = any_busy[t] = 1;
    for (const Flight& f : line_.flights)
      for (uint32_t t = f.commit; f.kind == FlightKind::products && f.landed && t < f.land; ++t)
        any_busy[t] = 1;
    for (Flight& f : line_.flights) {
      if (!f.landed) f.land = line_.steps;
      f.commit = std::min(f.commit, f.land);
      const bool engine = f.kind == FlightKind::engine || f.kind == FlightKind::stores;
      const std::vector<uint8_t>& of = engine ? any_busy : busy[f.warp];
      f.overlapped = uint32_t(std::count(of.begin() + f.commit, of.begin() + f.land, 1));
    }
    for (const auto& [key, p] : phases_)
      line_.phases.push_back({.barrier = int(key.first),
                              .phase = key.second,
                              .first = std::min(p.first, p.end),
                              .end = p.end,
                              .arrivals = p.arrivals,
                              .waits = p.waits});
  }

  const RecordedBlock& block_;
  const std::vector<RecordedAccess>& accesses_;
  std::vector<size_t> at_;
  std::vector<uint32_t> clock_;
  std::vector<Warp> state_;
  std::map<std::pair<unsigned, uint32_t>, Phase> phases_;
  Timeline line_;
};

}  // namespace

Timeline timeline_of(const RecordedBlock& block, const std::vector<RecordedAccess>& accesses) {
  return Steps(block, accesses).run();
}

Timeline::Overlap Timeline::overlap(FlightKind kind) const {
  Overlap sum;
  for (const Flight& f : flights) {
    if (f.kind != kind) continue;
    sum.steps += f.land - f.commit;
    sum.overlapped += f.overlapped;
  }
  return sum;
}

const char* name_of(Doing what) {
  constexpr const char* kNames[kDoings] = {"code", "shared memory", "global memory", "issues copies",
                                           "waits"};
  return kNames[size_t(what)];
}

const char* name_of(FlightKind kind) {
  constexpr const char* kNames[] = {"cp.async", "copy engine", "copy engine, store", "wgmma"};
  return kNames[size_t(kind)];
}

}  // namespace klab::simt
