#include "harness/simt/trace.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "harness/simt/modules.h"

namespace klab::simt {
namespace {

/// A lane that has logged so many accesses lets the others catch up, so that logs stay short.
constexpr size_t kLongLog = 4096;
constexpr uint64_t kTurn = 16384;

std::atomic<uint32_t> last_interval{1};

uint8_t kind_of(uint8_t how, Space space) { return uint8_t((how & (kWrite | kAtomic)) | (4 << int(space))); }

}  // namespace

uint32_t Trace::new_intervals(uint32_t count) { return last_interval.fetch_add(count) + 1; }

Trace& trace_of_thread() {
  thread_local Trace one;
  return one;
}

void SharedShadow::attach(char* begin, size_t bytes) {
  if (begin == begin_ && bytes == bytes_) return;
  forget();
  begin_ = begin;
  bytes_ = bytes;
  cells_.assign((bytes + 3) / 4 + 1, Cell{});
}

void SharedShadow::forget() {
  for (const uint32_t word : touched_) {
    cells_[word] = Cell{};
    std::memset(begin_ + size_t(word) * 4, 0xFF, std::min<size_t>(4, bytes_ - size_t(word) * 4));
  }
  touched_.clear();
}

void Trace::launch_begins(Executor& executor, Session& session, Profile* profile, const Launch& launch) {
  grid_ = nullptr;
  begins(executor, session, profile, launch);
  interval_ = launch_first_ = next_interval();
  split_global_.forget();
}

void Trace::begins(Executor& executor, Session& session, Profile* profile, const Launch& launch) {
  executor_ = &executor;
  session_ = &session;
  profile_ = profile;
  split_shared_.forget();
  block_firsts_.clear();
  block_numbers_.clear();
  released_.clear();
  known_sites_.fill({});
  parameters_ = static_cast<const char*>(launch.parameters);
  parameter_bytes_ = launch.parameter_bytes;
  static_.attach(executor.static_shared, executor.static_shared_bytes);
  variables_ = shared_variables_of(launch.kernel);
  variable_of_.assign(executor.static_shared_bytes / 4 + 1, 0);
  for (size_t k = 0; k < variables_.size(); ++k)
    for (size_t b = variables_[k].offset; b < variables_[k].offset + variables_[k].bytes; b += 4)
      if (b / 4 < variable_of_.size()) variable_of_[b / 4] = uint16_t(k + 1);
  barriers_ = 0;
  doubt_.p = nullptr;
  counting_ = session.options().counts;
  flow_ = {};
  known_flow_ = {};
  blocks_begun_ = 0;
  compiled_.launch_begins(counting_ ? session.options().compiled : nullptr, function_name(launch.kernel),
                          profile, &flow_);
}

void Trace::launch_ended() {
  settle();
  static_.forget();
  dynamic_.forget();
}

void Trace::block_begins() {
  dynamic_.attach(executor_->dynamic_shared, executor_->launch->shared_bytes);
  static_.forget();
  dynamic_.forget();
  if (grid_ == nullptr) {
    block_first_ = interval_ = next_interval();
    block_firsts_.push_back(block_first_);
    block_numbers_.push_back(executor_->block_number);
    if (!executor_->launch->cooperative) {
      if (KnownFlow::begins_wave(blocks_begun_++)) known_flow_.begin_wave();
      flow_.begin_with(known_flow_.edges(), known_flow_.known());
    }
  } else {
    block_first_ = interval_ = grid_->intervals(executor_->turn, chunk_);
    chunk_end_ = block_first_ + chunk_;
    chunks_.clear();
    flow_.begin_with(edges_, edges_.size());
    known_sites_.fill({});
  }
  clocks_.assign(executor_->warps(), WarpClock{});
  if (logs_.size() < executor_->warps()) logs_.resize(executor_->warps());
  for (WarpLog& log : logs_) log.forget();
  acquired_.clear();
  fenced_ = 0;
  barriers_ = 0;
  accesses_.assign(executor_->threads(), 0);
}

void Trace::block_ended() {
  settle();
  compiled_.block_ended();
  if (grid_ == nullptr) {
    interval_ = next_interval();
    if (!executor_->launch->cooperative) known_flow_.add(flow_.news());
  }
  if (profile_ != nullptr) {
    LaunchRecord& launch = grid_ != nullptr ? own_record_ : profile_->launches.back();
    launch.barriers = std::max(launch.barriers, barriers_);
    launch.thread_accesses = std::max(launch.thread_accesses, *std::ranges::max_element(accesses_));
  }
}

void Trace::barrier_passed(const char*, int) {
  interval_ = next_interval();
  ++barriers_;
  if (compiled_.counts()) compiled_.barrier();
  for (WarpClock& c : clocks_)
    if (c.now != 0) c = WarpClock{};
}

void Trace::warp_synchronized(unsigned warp, unsigned present) {
  settle();
  WarpClock& c = clocks_[warp];
  if (c.now < 0xFFFF) ++c.now;
  if ((present | executor_->ended(warp)) == ~0u) {
    c.full = c.now;
    segment_ended(warp);
    if (compiled_.counts()) compiled_.warp_synchronized(warp);
  } else {
    if (c.pairs.empty()) c.pairs.assign(32 * 32, 0);
    for (unsigned a = 0; a < 32; ++a)
      for (unsigned b = 0; b < 32; ++b)
        if (present >> a & present >> b & 1) c.pairs[a * 32 + b] = c.now;
  }
  for (unsigned a = 0; a < 32; ++a)
    if (present >> a & 1) c.any[a] = c.now;
}

void Trace::step(const void* pc) {
  ++executor_->lane->steps;
  executor_->step(pc);
}

inline void Trace::log_place(Lane& lane) {
  WarpLog& log = logs_[lane.warp];
  const Frame& here = lane.frames.back();
  if (log.entered(lane.lane, {here.block, here.turn, uint16_t(lane.frames.size())}) >= kLongLog)
    executor_->let_others_run();
}

void Trace::block_entered(const void* pc) {
  Lane& lane = *executor_->lane;
  ++lane.steps;
  executor_->step(pc);
  if (!counting_) return;
  if (lane.frames.empty()) lane.frames.emplace_back();
  const auto block = reinterpret_cast<uintptr_t>(pc);
  Frame& here = lane.frames.back();
  if (here.block != 0) flow_.follows(here.block, block);
  here = {block, 0};
  log_place(lane);
}

void Trace::function_entered() {
  if (counting_) executor_->lane->frames.emplace_back();
}

void Trace::function_left() {
  Lane& lane = *executor_->lane;
  auto& frames = lane.frames;
  if (!counting_ || frames.empty()) return;
  flow_.follows(frames.back().block, Flow::kEnd);
  frames.pop_back();
  if (frames.empty() || frames.back().block == 0) return;
  ++frames.back().turn;
  log_place(lane);
}

bool Trace::is_the_kernels(const char* p, size_t bytes) const {
  const size_t offset = static_.offset(p);
  if (offset + bytes > static_.bytes()) return false;
  if (variables_.empty()) return true;
  const uint16_t k = variable_of_[offset / 4];
  return k != 0 && offset + bytes <= variables_[k - 1].offset + variables_[k - 1].bytes;
}

uint16_t Trace::site_of(const void* pc, Space space, uint8_t how, size_t bytes) {
  const uint8_t kind = kind_of(how, space);
  KnownSite& known = known_site(pc);
  if (known.pc == pc && known.kind == kind) return known.site;
  const uint16_t site = profile_->site(pc, space, (how & kWrite) != 0, (how & kAtomic) != 0,
                                       (how & kMerges) != 0, unsigned(bytes));
  if (grid_ != nullptr) {
    if (is_of_block_.size() <= site) is_of_block_.resize(size_t(site) + 1, 0);
    if (!std::exchange(is_of_block_[site], uint8_t(1))) sites_of_block_.push_back(site);
  }
  // An asynchronous copy, too, is made as it is written.
  if (how & (kVolatile | kAsync)) (*profile_)[site].is_volatile = true;
  known = {.pc = pc, .site = site, .kind = kind};
  return site;
}

inline bool Trace::seen_quickly(Cell& c, bool write, uint16_t site, const Lane& me) {
  // What is said here in few words is what watch() and check_cell() come to in these cases.
  const auto thread = uint16_t(me.thread);
  const auto over = [&](uint32_t interval, uint16_t who) {
    return interval < launch_first_ || (interval == interval_ && who == thread) ||
           (interval >= block_first_ && interval < interval_ && who != Cell::kGrid);
  };
  if (c.in_flight || c.split != 0 || !over(c.write_interval, c.writer)) return false;
  if (write) {
    if (!over(c.read_interval, c.reader)) return false;
    c.defined = 0xF;
    c.write_interval = interval_;
    c.writer = thread;
    c.write_sync = clocks_[me.warp].now;
    c.write_site = site;
    c.write_atomic = false;
    return true;
  }
  if (c.defined != 0xF) return false;
  if (over(c.read_interval, c.reader)) {
    c.reader = thread;
    c.read_sync = clocks_[me.warp].now;
    c.read_atomic = false;
  } else {
    const bool grid = acquired_.empty() && (c.reader == Cell::kGrid || c.read_interval < block_first_ ||
                                            (c.read_interval > interval_ && chunks_.empty()));
    if (!grid && c.read_interval != interval_) return false;
    if (!grid && c.reader != Cell::kBlock) {
      if (clocks_[me.warp].now != 0 || c.reader == Cell::kGrid) return false;
      const unsigned warp = c.reader & Cell::kWarp ? c.reader & 0xFFU : c.reader / 32U;
      c.reader = warp == me.warp ? uint16_t(Cell::kWarp | warp) : Cell::kBlock;
    }
    if (grid && grid_ != nullptr) {
      if (c.reader == Cell::kGrid) return true;
      if (!chunks_.empty()) return false;
      c.read_sync = std::exchange(c.reader, Cell::kGrid);
      return true;
    }
    if (grid) c.reader = Cell::kGrid;
    c.read_sync = std::max(c.read_sync, clocks_[me.warp].now);
    c.read_atomic = false;
  }
  c.read_interval = interval_;
  c.read_site = site;
  return true;
}

Cell* Trace::cells_of(const char* c, size_t bytes, Space* space) {
  if (is_device(c)) {
    *space = Space::global;
    const Allocation* a = owner_of(c);
    if (a == nullptr || !a->live || a->given_back || a->shadow == nullptr || c < a->begin ||
        c + bytes > a->begin + a->bytes || (c - a->begin) % 4 != 0)
      return nullptr;
    return a->shadow + (c - a->begin) / 4;
  }
  *space = Space::shared;
  if (dynamic_.holds(c))
    return c + bytes <= dynamic_.begin() + dynamic_.bytes() ? dynamic_.cells(c, bytes) : nullptr;
  return static_.holds(c) && is_the_kernels(c, bytes) ? static_.cells(c, bytes) : nullptr;
}

inline void Trace::log(Lane& lane, const void* p, size_t bytes, uint16_t site) {
  if (!counting_) {
    if (lane.steps % kTurn == 0) executor_->let_others_run();
    return;
  }
  if (compiled_.counts() && !lane.frames.empty()) compiled_.seen(site, lane.frames.back().block);
  ++accesses_[lane.thread];
  WarpLog& log = logs_[lane.warp];
  if (log.accessed(lane.lane, reinterpret_cast<uintptr_t>(p), uint32_t(bytes), site) >= kLongLog)
    executor_->let_others_run();
}

/// What the site has come to, so that it need not be looked for the next time.
void Trace::remember(KnownSite& known, const char* c, Space space) {
  known.bytes = 0;
  known.shared = nullptr;
  if (space == Space::global) {
    const Allocation* a = owner_of(c);
    if (reinterpret_cast<uintptr_t>(a->begin) % 4 != 0) return;
    known.begin = a->begin;
    known.bytes = a->bytes;
    known.cells = a->shadow;
  } else if (dynamic_.holds(c)) {
    known.begin = dynamic_.begin();
    known.bytes = dynamic_.bytes();
    known.shared = &dynamic_;
  } else if (!variables_.empty()) {
    const SharedVariable& v = variables_[variable_of_[static_.offset(c) / 4] - 1U];
    if (v.offset % 4 != 0) return;
    known.begin = static_.begin() + v.offset;
    known.bytes = v.bytes;
    known.shared = &static_;
  }
}

inline void Trace::watch_words(Cell* cells, const char* c, size_t bytes, uint8_t how, uint16_t site, Space space,
                        Lane& lane) {
  const bool held = grid_ != nullptr && space == Space::global;
  for (size_t at = 0; at < bytes; at += 4, ++cells)
    if (held)
      watch_held(*cells, const_cast<char*>(c + at), 0, 4, how, site);
    else if (!seen_quickly(*cells, (how & kWrite) != 0, site, lane))
      watch(*cells, const_cast<char*>(c + at), 0, 4, how, site, space == Space::shared);
}

void Trace::access(const void* p, size_t bytes, uint8_t how, const void* pc) {
  const auto* c = static_cast<const char*>(p);
  Lane& lane = *executor_->lane;
  // Local memory: the thread's own stack.
  if (size_t(c - lane.stack) < kStackOfThread) return;
  const bool plain = (how & ~kWrite) == 0 && (bytes == 4 || bytes == 8 || bytes == 16) && doubt_.p == nullptr &&
                     reinterpret_cast<uintptr_t>(p) % bytes == 0;
  if (!plain) return look_closely(p, bytes, how, pc);
  if (frees_seen_ != device_frees) {
    frees_seen_ = device_frees;
    for (KnownSite& known : known_sites_) known.bytes = 0;
  }
  Space space{};
  Cell* cells = cells_of(c, bytes, &space);
  if (cells == nullptr) return look_closely(p, bytes, how, pc);
  step(pc);
  const uint16_t site = site_of(pc, space, how, bytes);
  remember(known_site(pc), c, space);
  watch_words(cells, c, bytes, how, site, space, lane);
  log(lane, p, bytes, site);
}

template <unsigned bytes, bool write>
void Trace::plain_access(Executor& executor, Lane& lane, const void* p, const void* pc) {
  constexpr uint8_t how = write ? kWrite : kRead;
  const KnownSite& known = known_site(pc);
  const auto off = size_t(static_cast<const char*>(p) - known.begin);
  if (known.pc != pc || off >= known.bytes || known.bytes - off < bytes ||
      reinterpret_cast<uintptr_t>(p) % bytes != 0 || (known.kind & (kWrite | kAtomic)) != how ||
      doubt_.p != nullptr || frees_seen_ != device_frees.load(std::memory_order_relaxed))
    return access(p, bytes, how, pc);
  ++lane.steps;
  executor.step(pc);
  const auto* c = static_cast<const char*>(p);
  const Space space = known.shared != nullptr ? Space::shared : Space::global;
  watch_words(known.shared != nullptr ? known.shared->cells(c, bytes) : known.cells + off / 4, c, bytes, how,
              known.site, space, lane);
  log(lane, p, bytes, known.site);
}
template void Trace::plain_access<4, false>(Executor&, Lane&, const void*, const void*);
template void Trace::plain_access<4, true>(Executor&, Lane&, const void*, const void*);
template void Trace::plain_access<8, false>(Executor&, Lane&, const void*, const void*);
template void Trace::plain_access<8, true>(Executor&, Lane&, const void*, const void*);
template void Trace::plain_access<16, false>(Executor&, Lane&, const void*, const void*);
template void Trace::plain_access<16, true>(Executor&, Lane&, const void*, const void*);

void Trace::look_closely(const void* p, size_t bytes, uint8_t how, const void* pc) {
  const auto* c = static_cast<const char*>(p);
  Lane& lane = *executor_->lane;
  if (doubt_.p != nullptr) settle();
  step(pc);
  if ((how & kWrite) == 0 && c >= parameters_ && c + bytes <= parameters_ + parameter_bytes_) return;
  Cell* cells;
  const char* begin;
  bool shared = true;
  if (is_device(p)) {
    Allocation* a = allocation_at(p);
    if (a == nullptr || !a->live || a->given_back || c < a->begin || c + bytes > a->begin + a->bytes)
      illegal(p, bytes, how, pc);
    cells = shadow_of(*a);
    begin = a->begin;
    shared = false;
  } else if (dynamic_.holds(c)) {
    if (c + bytes > dynamic_.begin() + dynamic_.bytes()) illegal(p, bytes, how, pc);
    cells = nullptr;
    begin = dynamic_.begin();
  } else if (static_.holds(c)) {
    if (!is_the_kernels(c, bytes)) illegal(p, bytes, how, pc);
    cells = nullptr;
    begin = static_.begin();
  } else {
    Allocation* variable = nullptr;
    if (is_constant(c, bytes, how, pc, &variable)) return;
    if (c + bytes > variable->begin + variable->bytes) illegal(p, bytes, how, pc);
    cells = shadow_of(*variable);
    begin = variable->begin;
    shared = false;
  }
  if ((bytes & (bytes - 1)) == 0 && bytes <= 16 && reinterpret_cast<uintptr_t>(p) % bytes != 0)
    misaligned(p, bytes, how, pc);
  const uint16_t site = site_of(pc, shared ? Space::shared : Space::global, how, bytes);
  for (const char *at = c, *end = c + bytes; at < end;) {
    const size_t in_word = size_t(at - begin) % 4;
    const size_t n = std::min<size_t>(4 - in_word, size_t(end - at));
    Cell& cell = cells != nullptr     ? cells[size_t(at - begin) / 4]
                 : dynamic_.holds(at) ? dynamic_.cell(at)
                                      : static_.cell(at);
    if (grid_ != nullptr && !shared)
      watch_held(cell, const_cast<char*>(at - in_word), unsigned(in_word), unsigned(in_word + n), how, site);
    else
      watch(cell, const_cast<char*>(at - in_word), unsigned(in_word), unsigned(in_word + n), how, site, shared);
    at += n;
  }
  log(lane, p, bytes, site);
}

void Trace::fence() { fenced_ = interval_; }

void Trace::copy_issued(const AsyncCopy& copy) {
  if (copy.filled > 0) access(copy.from, copy.filled, kRead | kAsync, copy.site);
  access(copy.to, copy.bytes, kWrite | kAsync, copy.site);
  for (unsigned b = 0; b < copy.bytes; b += 4) {
    char* at = copy.to + b;
    if (dynamic_.holds(at))
      dynamic_.cell(at).in_flight = true;
    else if (static_.holds(at))
      static_.cell(at).in_flight = true;
  }
  std::memset(copy.to, 0xFF, copy.bytes);  // whoever does not wait sees NaN
}

void Trace::copy_landed(const AsyncCopy& copy) {
  for (unsigned b = 0; b < copy.bytes; b += 4) {
    char* at = copy.to + b;
    if (!static_.holds(at) && !dynamic_.holds(at)) continue;
    Cell& cell = dynamic_.holds(at) ? dynamic_.cell(at) : static_.cell(at);
    cell.in_flight = false;
    // The copy is a write of the thread that waits, made now.
    cell.write_interval = interval_;
    cell.writer = uint16_t(executor_->lane->thread);
    cell.write_sync = clocks_[executor_->lane->warp].now;
    cell.write_atomic = false;
    cell.defined = 0xF;
  }
}

}  // namespace klab::simt
