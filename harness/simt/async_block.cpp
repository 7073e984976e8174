#include "harness/simt/async_block.h"

#include <algorithm>
#include <cstring>

#include "harness/simt/bulk_reduce.h"
#include "harness/simt/cluster.h"
#include "harness/simt/modules.h"
#include "harness/simt/recording.h"
#include "harness/simt/trace.h"

namespace klab::simt {
namespace {

constexpr uint32_t kMostCount =
    (1U << 20) - 1;               // of arrivals and of bytes (PTX manual, "Size and alignment of mbarrier")
constexpr unsigned kRounds = 64;  // of waits that time out before a deadlock is reported

std::string bytes_of(int64_t n) { return std::to_string(n) + " bytes"; }

/// Writes or clears what a copy fills of shared memory.
void fill(const CopyInFlight& c) {
  for (const AsyncCopy& piece : c.pieces) {
    if (c.reduces) {
      reduce_in_place(piece.to, piece.from, piece.bytes, c.how, c.type);
      continue;
    }
    std::memcpy(piece.to, piece.from, piece.filled);
    std::memset(piece.to + piece.filled, 0, piece.bytes - piece.filled);
  }
  std::vector<char> line(c.row_bytes);
  for (const BoxRow& row : c.rows) {
    for (size_t at = 0; at < line.size(); at += 4) std::memcpy(line.data() + at, &c.outside, 4);
    if (row.bytes > 0) std::memcpy(line.data() + row.lead, row.inside, row.bytes);
    for (size_t at = 0; at < line.size(); at += 16)
      std::memcpy(
          reinterpret_cast<char*>(swizzled(reinterpret_cast<uintptr_t>(c.to) + row.offset + at, c.swizzle)),
          line.data() + at, 16);
  }
}

/// The other direction: reads the rows of a store from shared memory.
void read_rows(CopyInFlight& c) {
  c.data = std::make_shared<char[]>(c.rows.size() * c.row_bytes);
  for (size_t r = 0; r < c.rows.size(); ++r)
    for (size_t at = 0; at < c.row_bytes; at += 16)
      std::memcpy(c.data.get() + r * c.row_bytes + at,
                  reinterpret_cast<const char*>(
                      swizzled(reinterpret_cast<uintptr_t>(c.to) + c.rows[r].offset + at, c.swizzle)),
                  16);
}

/// Writes them to global memory; elements outside the tensor are not written.
void write_rows(const CopyInFlight& c) {
  for (size_t r = 0; r < c.rows.size(); ++r) {
    const BoxRow& row = c.rows[r];
    if (row.bytes == 0) continue;
    const char* const from = c.data.get() + r * c.row_bytes + row.lead;
    if (c.reduces)
      reduce_in_place(row.inside, from, row.bytes, c.how, c.type);
    else
      std::memcpy(row.inside, from, row.bytes);
  }
}

}  // namespace

AsyncBlock::AsyncBlock(BlockRunner& executor)
    : groups(executor),
      executor_(executor),
      rank_(executor.cluster != nullptr ? executor.cluster->rank() : 0),
      registers_(executor.warps(), 0) {}

char* AsyncBlock::here(char* p) const {
  const Cluster* c = executor_.cluster;
  return c == nullptr || c->rank() == rank_ ? p : c->kept_at(p, rank_);
}

Mbarrier* AsyncBlock::barrier_of(const void* p, const void* now) {
  const auto at = mbarriers_.find(p);
  if (at == mbarriers_.end()) return nullptr;
  uint64_t word = 0;
  std::memcpy(&word, now, sizeof word);
  return word == (kWord | at->second->agent) ? at->second.get() : nullptr;
}

Mbarrier& AsyncBlock::mbarrier_at(void* p, const char* what, const char* file, int line) {
  const auto at = mbarriers_.find(p);
  const std::string name = what;
  if (at == mbarriers_.end())
    executor_.abandon({.kind = Kind::uninitialized,
                       .file = file,
                       .line = line,
                       .text = name + " at shared memory in which no mbarrier.init has made a barrier"});
  Mbarrier& b = *at->second;
  uint64_t word = 0;
  std::memcpy(&word, p, sizeof word);
  if (word != (kWord | b.agent))
    executor_.abandon({.kind = Kind::barrier_misuse,
                       .file = file,
                       .line = line,
                       .text = name + " on a barrier whose 8 bytes have been overwritten"});
  const unsigned warp = executor_.lane->warp;
  if (executor_.trace != nullptr && (b.known_to >> warp & 1) == 0) {
    b.known_to |= 1U << warp;
    const Cluster* const cluster = executor_.cluster;
    if (!executor_.trace->comes_before_me(b.began) &&
        (cluster == nullptr || !b.is_known_behind(cluster->waited())))
      executor_.report({.kind = Kind::shared_race,
                        .file = file,
                        .line = line,
                        .text = name + " on a barrier that thread " + std::to_string(b.began.thread) +
                                " of the block has initialized, with no barrier between"});
  }
  return b;
}

void AsyncBlock::init(void* p, uint32_t count, const char* file, int line, const void* pc) {
  const auto fails = [&](Kind kind, const std::string& text) {
    executor_.abandon({.kind = kind, .file = file, .line = line, .text = text});
  };
  if (reinterpret_cast<uintptr_t>(p) % 8 != 0)
    fails(Kind::misaligned, "mbarrier.init at no multiple of 8 bytes");
  if (!executor_.is_shared(p, 8))
    fails(Kind::out_of_bounds, "mbarrier.init outside the block's shared memory");
  if (count < 1 || count > kMostCount)
    fails(Kind::barrier_misuse, "mbarrier.init with " + std::to_string(count) + " arrivals; 1 to " +
                                    std::to_string(kMostCount) + " are possible");
  auto& slot = mbarriers_[p];
  if (slot != nullptr)
    executor_.report({.kind = Kind::barrier_misuse,
                      .file = file,
                      .line = line,
                      .text = "mbarrier.init of a barrier that is in use: mbarrier.inval must come first"});
  slot = std::make_unique<Mbarrier>();
  slot->at = static_cast<char*>(p);
  slot->expected = slot->pending = count;
  if (Trace* trace = executor_.trace; trace != nullptr) {
    trace->barrier_written(slot->at, pc);
    slot->agent = trace->new_agent(AgentKind::copies);
    slot->began = trace->now();
    slot->known_to = 1U << executor_.lane->warp;
  }
  const uint64_t word = kWord | slot->agent;
  std::memcpy(p, &word, sizeof word);
}

void AsyncBlock::invalidate(void* p, const char* file, int line) {
  const Mbarrier& b = mbarrier_at(p, "mbarrier.inval", file, line);
  if (!b.copies.empty())
    executor_.report({.kind = Kind::barrier_misuse,
                      .file = file,
                      .line = line,
                      .text = "mbarrier.inval of a barrier for which copies are in flight"});
  std::memset(p, 0, 8);
  mbarriers_.erase(p);
}

std::string AsyncBlock::state_of(const Mbarrier& b) const {
  std::string text =
      std::to_string(b.expected - b.pending) + " of " + std::to_string(b.expected) + " arrivals are made";
  if (b.transactions > 0) text += ", and " + bytes_of(b.transactions) + " that are expected have not come";
  if (b.transactions < 0) text += ", and " + bytes_of(-b.transactions) + " have come that nothing expects";
  return text;
}

void AsyncBlock::note(Note what, const Mbarrier& b, uint32_t phase, size_t bytes, int line) const {
  const BlockRunner& e = executor_;
  if (e.trace == nullptr || !e.trace->is_recorded()) return;
  const auto off = size_t(b.at - e.static_shared);
  const Module* const module = off < e.static_shared_bytes ? module_at(e.launch->kernel) : nullptr;
  const std::string name = module != nullptr
                               ? shared_name(*module, off)
                               : "shared memory, byte " + std::to_string(b.at - e.dynamic_shared);
  e.trace->note(what, line, phase, uint32_t(bytes), &b, name);
}

uint64_t AsyncBlock::arrive(Mbarrier& b, uint32_t count, Arrival how, int64_t bytes, const char* file,
                            int line, bool releases) {
  note(Note::arrive, b, b.phase, 0, line);
  const AsyncClocks nothing;
  return arrive(b, count, how, bytes, releases ? nullptr : &nothing, file, line);
}

void AsyncBlock::arrive_from_peer(Mbarrier& b, uint32_t count, Arrival how, int64_t bytes,
                                  const AsyncClocks& clocks, const char* file, int line) {
  arrive(b, count, how, bytes, &clocks, file, line);
}

uint64_t AsyncBlock::arrive(Mbarrier& b, uint32_t count, Arrival how, int64_t bytes,
                            const AsyncClocks* clocks, const char* file, int line) {
  moved();
  if (how == Arrival::expect) transact(b, bytes, file, line);
  const uint64_t state = uint64_t(b.phase) << 32 | b.pending;
  if (count > b.pending) {
    executor_.report({.kind = Kind::barrier_misuse,
                      .file = file,
                      .line = line,
                      .text = "mbarrier.arrive beyond the arrivals that the phase expects: " + state_of(b)});
    return state;
  }
  // "The mbarrier.arrive with .noComplete must not cause the mbarrier to complete its phase" (PTX manual, "mbarrier.arrive").
  // Copies may have completed their bytes before.
  if (how == Arrival::no_complete && count == b.pending)
    executor_.report(
        {.kind = Kind::barrier_misuse,
         .file = file,
         .line = line,
         .text = "mbarrier.arrive.noComplete with the last arrivals of a phase, which it must not end: " +
                 state_of(b)});
  if (executor_.trace != nullptr) b.open.merge(clocks != nullptr ? *clocks : executor_.trace->released());
  b.pending -= count;
  if (how == Arrival::drop) b.expected -= count;
  end_phase_if_over(b);
  return state;
}

void AsyncBlock::transact(Mbarrier& b, int64_t bytes, const char* file, int line) {
  moved();
  b.transactions += bytes;
  if (std::abs(b.transactions) > int64_t(kMostCount))
    executor_.abandon({.kind = Kind::barrier_misuse,
                       .file = file,
                       .line = line,
                       .text = "the transaction count of an mbarrier goes beyond " +
                               std::to_string(kMostCount) + " bytes"});
  end_phase_if_over(b);
}

void AsyncBlock::end_phase_if_over(Mbarrier& b) {
  if (b.pending != 0 || b.transactions != 0) return;
  if (executor_.trace != nullptr) {
    const size_t which = b.agent & 0xFFFU;
    if (b.open.agents.size() <= which) b.open.agents.resize(which + 1, 0);
    b.open.agents[which] = uint16_t(std::min<uint32_t>(b.phase + 1, 0xFFFF));
  }
  ++b.phase;
  b.pending = b.expected;
  b.over = std::exchange(b.open, {});
  moved();
  executor_.progressed();
  executor_.wake(&b);
  if (b.copies.empty()) return;
  const CopyInFlight& left = b.copies.front();
  executor_.report({.kind = Kind::barrier_misuse,
                    .file = left.file,
                    .line = left.line,
                    .text =
                        "the phase of an mbarrier is over while this copy to it is in flight: the bytes that "
                        "the phase expects (expect_tx) are fewer than those of its copies"});
}

/// Lands one of the copies that the barrier waits for.
void AsyncBlock::land(Mbarrier& b) {
  const size_t which = mixed(executor_.seed() + ++turn_) % b.copies.size();
  const CopyInFlight copy = std::move(b.copies[which]);
  b.copies.erase(b.copies.begin() + std::ptrdiff_t(which));
  fill(copy);
  if (executor_.trace != nullptr) {
    for (const AsyncCopy& piece : copy.pieces)
      executor_.trace->agent_landed(piece.to, piece.bytes, uint16_t(std::min<uint32_t>(b.phase, 0xFFFE)));
    if (!copy.rows.empty())
      executor_.trace->agent_landed(copy.to, copy.rows.size() * copy.row_bytes,
                                    uint16_t(std::min<uint32_t>(b.phase, 0xFFFE)));
  }
  b.transactions -= int64_t(copy.bytes);
  b.pending -= std::min(copy.arrivals, b.pending);
  end_phase_if_over(b);
}

void AsyncBlock::land_for_phase(Mbarrier& b) {
  for (const uint32_t phase = b.phase; b.phase == phase && !b.copies.empty();) land(b);
}

bool AsyncBlock::wait(Mbarrier& b, const WaitedPhase& what, const char* file, int line, bool acquires) {
  const auto is_over = [&] {
    return what.by_parity ? (b.phase & 1) != (what.phase & 1) : b.phase != what.phase;
  };
  if (!is_over()) land_for_phase(b);
  while (!is_over())
    if (!executor_.wait_until_woken(&b, "mbarrier.try_wait", file, line)) return false;
  moved();
  if (executor_.trace != nullptr && acquires) executor_.trace->acquired(b.over);
  note(Note::waited, b, b.phase, 0, line);
  return true;
}

void AsyncBlock::inits_fenced() {
  const Cluster* const cluster = executor_.cluster;
  if (cluster == nullptr || executor_.trace == nullptr) return;
  for (const auto& [at, b] : mbarriers_)
    if (b->began.thread == executor_.lane->thread && b->fenced_until == 0)
      b->fenced_until = cluster->coming_phase() + 1;
}

void AsyncBlock::copy_issued(Mbarrier& b, CopyInFlight copy) {
  moved();
  // A copy that another block of the cluster has issued belongs to no warp of this one.
  if (executor_.cluster == nullptr || executor_.cluster->rank() == rank_)
    note(copy.arrivals > 0 ? Note::follow : Note::bulk, b, b.phase, copy.bytes, copy.line);
  if (!copy.rows.empty()) {
    std::memset(here(copy.to), 0xFF, copy.rows.size() * copy.row_bytes);  // who does not wait reads NaNs
    const char* const end = copy.to + copy.rows.size() * copy.row_bytes;
    auto at = tiles_.lower_bound(copy.to);
    if (at != tiles_.begin() && std::prev(at)->second.end > copy.to) --at;
    while (at != tiles_.end() && at->first < end) at = tiles_.erase(at);
    // A row of one piece looks the same under some swizzles, and rows shorter than a span are laid out in several ways.
    if (copy.row_bytes >= 32 && copy.rows.size() > 1)
      tiles_[copy.to] = {end, copy.row_bytes, copy.swizzle, copy.line};
  }
  if (copy.data != nullptr && !copy.reduces)
    for (const AsyncCopy& piece : copy.pieces) std::memset(here(piece.to), 0xFF, piece.bytes);
  b.copies.push_back(std::move(copy));
}

const std::pair<const char* const, AsyncBlock::Tile>* AsyncBlock::tile_at(const char* p) const {
  auto at = tiles_.upper_bound(p);
  return at == tiles_.begin() || p >= (--at)->second.end ? nullptr : &*at;
}

bool AsyncBlock::is_constant(const void* p, size_t bytes) const {
  auto at = constants_.upper_bound(p);
  if (at == constants_.begin()) return false;
  --at;
  return static_cast<const char*>(p) + bytes <= static_cast<const char*>(at->first) + at->second;
}

std::string AsyncBlock::other_lead(const void* first, const void* second, uint32_t lead) const {
  const auto *p = static_cast<const char*>(first), *q = static_cast<const char*>(second);
  const auto *one = tile_at(p), *other = tile_at(q);
  // A box that is as wide as the swizzle's span holds one piece of each row; the next one is in another box.
  if (one == nullptr || other == nullptr || one->second.row_bytes != size_t(16) << one->second.swizzle)
    return "";
  if (one != other && q - other->first == p - one->first) return "";
  const std::string text = "a leading offset of " + bytes_of(lead) + ", and the copy of line " +
                           std::to_string(one->second.line) + " has written ";
  return one == other ? text + "boxes of " + bytes_of(one->second.end - one->first) +
                            ": this is the same box again, in another row"
                      : text + "a box that begins " + bytes_of(other->first - one->first) +
                            " before the next one, of line " + std::to_string(other->second.line);
}

std::string AsyncBlock::other_layout(const void* p, const Layout& read) const {
  const auto* c = static_cast<const char*>(p);
  const auto* const at = tile_at(c);
  if (at == nullptr) return "";
  const Tile& tile = at->second;
  const std::string written =
      ", and the copy of line " + std::to_string(tile.line) + " has written the tile with ";
  const auto name = [](unsigned s) {
    return s == 0 ? std::string("no swizzle") : "a swizzle of " + bytes_of(16 << s);
  };
  if (tile.swizzle != read.swizzle) return name(read.swizzle) + written + name(tile.swizzle);
  // Where a row of the tile fills the swizzle, the rows that a product reads follow each other, if they are all there.
  const size_t span = size_t(16) << read.swizzle, stride = 8 * span;
  const size_t row = size_t(c - at->first) / span, rows = size_t(tile.end - at->first) / span;
  if (read.swizzle == 0 || tile.row_bytes != span || read.rows <= 8 || read.stride == stride ||
      row + read.rows > rows)
    return "";
  std::string numbers, lie, are_read;
  for (unsigned k = 0; k < std::min(4U, read.rows / 8); ++k) {
    const char* const comma = k > 0 ? ", " : "";
    numbers += comma + std::to_string(8 * k);
    lie += comma + std::to_string(k * stride);
    are_read += comma + std::to_string(k * read.stride);
  }
  return "a stride of " + bytes_of(read.stride) + written + bytes_of(int64_t(stride)) + ": rows " + numbers +
         " lie at " + lie + ", and are read at " + are_read;
}

void AsyncBlock::store_issued(const CopyInFlight& what) {
  moved();
  Stores& s = stores_[executor_.lane->thread];
  if (executor_.trace != nullptr)
    executor_.trace->note(Note::store, what.line, 0, uint32_t(what.rows.size() * what.row_bytes));
  if (s.groups.empty()) s.groups.emplace_back();
  if (executor_.trace != nullptr && s.agent == 0) s.agent = executor_.trace->new_agent(AgentKind::stores);
  s.groups.back().push_back(what);
  if (executor_.trace == nullptr) return;
  mark(what, true);
  const auto number = uint16_t(std::min<size_t>(s.completed + s.groups.size() - 1, 0xFFFE));
  executor_.trace->agent_reads(what.to, what.rows.size() * what.row_bytes, s.agent, number, what.pc,
                               what.file, what.line);
}

void AsyncBlock::bulk_commit() {
  Stores& s = stores_[executor_.lane->thread];
  if (s.groups.empty()) s.groups.emplace_back();
  s.groups.emplace_back();
  if (executor_.trace != nullptr) executor_.trace->note(Note::store_commit, 0);
}

/// Marks what a store writes of global memory as not written yet, or as written.
void AsyncBlock::mark(const CopyInFlight& c, bool pending) const {
  if (executor_.trace == nullptr) return;
  for (const BoxRow& row : c.rows)
    if (row.bytes > 0) executor_.trace->engine_pending(row.inside, row.bytes, pending);
}

void AsyncBlock::read_groups(Stores& s, size_t count) {
  for (size_t k = 0; k < count; ++k) {
    for (CopyInFlight& c : s.groups[k]) read_rows(c);
    s.read.push_back(std::move(s.groups[k]));
  }
  s.groups.erase(s.groups.begin(), s.groups.begin() + std::ptrdiff_t(count));
  s.completed = uint16_t(std::min<size_t>(s.completed + count, 0xFFFF));
}

void AsyncBlock::write_groups(Stores& s, size_t count) {
  for (size_t k = 0; k < count; ++k)
    for (const CopyInFlight& c : s.read[k]) {
      write_rows(c);
      mark(c, false);
    }
  s.read.erase(s.read.begin(), s.read.begin() + std::ptrdiff_t(count));
}

void AsyncBlock::bulk_wait(int left, bool read) {
  if (executor_.trace != nullptr) executor_.trace->note(Note::store_wait, 0, uint32_t(left));
  const auto at = stores_.find(executor_.lane->thread);
  if (at == stores_.end()) return;
  Stores& s = at->second;
  const size_t committed = s.groups.empty() ? 0 : s.groups.size() - 1;
  if (committed > size_t(left)) read_groups(s, committed - size_t(left));
  if (const size_t all = s.read.size() + std::min(committed, size_t(left)); !read && all > size_t(left))
    write_groups(s, all - size_t(left));
  if (executor_.trace != nullptr && s.agent != 0) executor_.trace->agent_known(s.agent, s.completed);
}

void AsyncBlock::named_barrier(uint32_t id, uint32_t threads, bool waits, const char* file, int line) {
  const auto fails = [&](const std::string& text) {
    executor_.abandon({.kind = Kind::barrier_misuse, .file = file, .line = line, .text = text});
  };
  const std::string name = waits ? "barrier.sync " : "barrier.arrive ";
  if (id > 15) fails(name + std::to_string(id) + ": barriers have the numbers 0 to 15");
  if (threads == 0 || threads % 32 != 0 || threads > 1024)
    fails(name + std::to_string(id) + " for " + std::to_string(threads) +
          " threads: a multiple of 32 is needed");
  Named& b = named_[id];
  moved();
  if (b.arrived == 0) b.threads = threads, b.line = uint32_t(line);
  if (b.threads != threads)
    fails(name + std::to_string(id) + " for " + std::to_string(threads) + " threads, and at line " +
          std::to_string(b.line) + " for " + std::to_string(b.threads));
  const std::string of = "named barrier " + std::to_string(id);
  const uint32_t phase = b.phase;
  if (executor_.trace != nullptr) {
    b.clocks.merge(executor_.trace->released());
    executor_.trace->note(Note::arrive, line, phase, 0, &b, of);
  }
  if (++b.arrived < b.threads) {
    if (!waits) return;
    while (!executor_.wait_until_woken(&b, "barrier.sync", file, line)) {
    }
  } else {
    b.over = std::exchange(b.clocks, {});
    b.arrived = 0;
    ++b.phase;
    executor_.progressed();
    executor_.wake(&b);
    if (!waits) return;
  }
  if (executor_.trace != nullptr) {
    executor_.trace->acquired(b.over);
    executor_.trace->note(Note::waited, line, phase + 1, 0, &b, of);
  }
}

void AsyncBlock::set_registers(uint32_t count, bool more, const char* file, int line) {
  const std::string name = std::string("setmaxnreg.") + (more ? "inc " : "dec ") + std::to_string(count);
  const auto found = [&](const std::string& text) {
    executor_.report({.kind = Kind::barrier_misuse, .file = file, .line = line, .text = name + text});
  };
  if (count < 24 || count > 256 || count % 8 != 0) return found(": a multiple of 8 from 24 to 256 is needed");
  registers_[executor_.lane->warp] = count;
  uint64_t all = 0;
  for (const uint32_t r : registers_) all += uint64_t(32) * std::max(r, 24U);
  const auto most = uint64_t(device_limits().registers_per_multiprocessor);
  if (all > most)
    found(" waits for ever: the warps of the block ask for " + std::to_string(all) +
          " registers, and a multiprocessor has " + std::to_string(most));
}

bool AsyncBlock::advance(bool may_time_out) {
  bool any = false, waits = false;
  for (unsigned t = 0; t < executor_.threads(); ++t) {
    Lane& l = executor_.lane_of(t / 32, t % 32);
    if (l.state != State::blocked) continue;
    const auto at = std::ranges::find_if(mbarriers_, [&](const auto& b) { return b.second.get() == l.slot; });
    if (at == mbarriers_.end()) continue;
    waits = true;
    if (at->second->copies.empty()) continue;
    land_for_phase(*at->second);
    any = true;
  }
  if (any) return true;
  // mbarrier.try_wait may end without its phase, after a time that the system chooses.
  if (!waits || !may_time_out || rounds_++ >= kRounds) return false;
  for (unsigned t = 0; t < executor_.threads(); ++t) {
    Lane& l = executor_.lane_of(t / 32, t % 32);
    if (l.state != State::blocked ||
        std::ranges::none_of(mbarriers_, [&](const auto& b) { return b.second.get() == l.slot; }))
      continue;
    l.timed_out = true;
    l.state = State::ready;
  }
  return true;
}

Finding AsyncBlock::deadlock() const {
  const Lane* one = nullptr;
  unsigned waiting = 0, ended = 0;
  for (unsigned t = 0; t < executor_.threads(); ++t) {
    const Lane& l = executor_.lane_of(t / 32, t % 32);
    ended += l.state == State::done;
    if (l.state != State::blocked) continue;
    if (one == nullptr) one = &l;
    waiting += l.slot == one->slot;
  }
  std::string text = std::string(one->name) + " waits for ever, in " + std::to_string(waiting) + " threads";
  for (const auto& [at, b] : mbarriers_)
    if (b.get() == one->slot)
      text += ": of phase " + std::to_string(b->phase) + " of its mbarrier " + state_of(*b);
  for (size_t id = 0; id < named_.size(); ++id)
    if (&named_[id] == one->slot)
      text += ": " + std::to_string(named_[id].arrived) + " of " + std::to_string(named_[id].threads) +
              " threads have arrived at barrier " + std::to_string(id);
  if (executor_.cluster != nullptr && one->slot == executor_.cluster->barrier())
    text += executor_.cluster->state_of_barrier();
  if (std::string_view(one->name).starts_with("wgmma"))
    text += ": only a part of the four warps has issued the products";
  for (unsigned t = 0; t < executor_.threads(); ++t) {
    const Lane& l = executor_.lane_of(t / 32, t % 32);
    if (l.state == State::done || (l.state == State::blocked && l.slot == one->slot)) continue;
    text += "; thread " + std::to_string(t) + " waits in " + l.name + " at line " + std::to_string(l.line);
    break;
  }
  if (ended > 0) text += "; " + std::to_string(ended) + " threads have ended";
  return executor_.placed({.kind = Kind::deadlock, .file = one->file, .line = one->line, .text = text}, one);
}

void AsyncBlock::block_ended() {
  for (auto& [at, b] : mbarriers_) {
    if (b->copies.empty()) continue;
    const CopyInFlight& c = b->copies.front();
    executor_.report({.kind = Kind::missing_wait,
                      .file = c.file,
                      .line = c.line,
                      .text = "the block has ended while this copy to its shared memory was in flight"});
  }
  for (auto& [thread, s] : stores_) {
    const auto open = std::ranges::find_if(s.groups, [](const auto& g) { return !g.empty(); });
    if (open != s.groups.end())
      executor_.report({.kind = Kind::missing_wait,
                        .file = open->front().file,
                        .line = open->front().line,
                        .text = "the block has ended before this copy has read its shared memory: "
                                "cp.async.bulk.wait_group must come first"});
    read_groups(s, s.groups.size());
    write_groups(s, s.read.size());
  }
  groups.block_ended();
}

}  // namespace klab::simt
