#include "harness/simt/trace_find.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "harness/simt/cluster.h"
#include "harness/simt/modules.h"
#include "harness/simt/program_symbols.h"

namespace klab::simt {
namespace {

std::string in_words(uint8_t how, size_t bytes) {
  return std::string(how & kAtomic  ? "atomic access to "
                     : how & kWrite ? "write of "
                                    : "read of ") +
         std::to_string(bytes) + " byte" + (bytes == 1 ? "" : "s");
}

const char* did(bool write, bool atomic) {
  return atomic ? "atomic access to " : write ? "writes " : "reads ";
}

std::string triple(uint64_t k, const unsigned* sizes) {
  return "(" + std::to_string(k % sizes[0]) + "," + std::to_string(k / sizes[0] % sizes[1]) + "," +
         std::to_string(k / sizes[0] / sizes[1]) + ")";
}

/// Says what is missing between an agent's access and a later one.
const char* why_agent(AgentKind kind) {
  return kind == AgentKind::copies
             ? ", and this thread knows of no wait for the phase that the copy completes"
         : kind == AgentKind::products
             ? ", and this thread knows of no wgmma.wait_group that has ended it"
             : ", and this thread knows of no cp.async.bulk.wait_group that has ended it";
}

}  // namespace

void TraceFind::launch_begins(Executor& executor, Session& session, Profile* profile, const Launch& launch,
                              GridRun* grid) {
  TraceOrder::launch_begins(executor, grid);
  session_ = &session;
  parameters_ = static_cast<const char*>(launch.parameters);
  parameter_bytes_ = launch.parameter_bytes;
  shared_.launch_begins(executor, launch.kernel);
  doubt_.p = nullptr;
  losses_.clear();
  contained_.undo();
  bad_index_.lane = nullptr;
  unsettled_ = false;
  count_.launch_begins(executor, session, profile, launch, grid);
}

void TraceFind::place(Finding& f, const void* pc) const {
  const SourceLine at = source_of(pc);
  f.file = at.file;
  f.line = at.line;
}

void TraceFind::bad_index(int64_t index, const std::string& array, const char* file, int line,
                          const void* pc) {
  Finding f{.kind = Kind::out_of_bounds,
            .file = file,
            .line = line,
            .text = "index " + std::to_string(index) + " of an array of type " + array};
  // The compiler names the file as it was given, the debug information by its whole path, as other findings do.
  if (const SourceLine at = source_of(pc); at.file.ends_with(f.file)) f.file = at.file;
  if (!session_->options().goes_on) executor_->abandon(std::move(f));
  // The access that follows has a hook if it is to shared or global memory: illegal() decides. The stack of the
  // thread, which has local arrays, has none, and could be damaged.
  if (unsettled_) index_was_bad();
  bad_index_ = {executor_->lane, std::move(f)};
  unsettled_ = true;
}

void TraceFind::bad_alignment(const void* p, size_t alignment, bool write, const std::string& type,
                              const char* file, int line, const void* pc) {
  const auto* c = static_cast<const char*>(p);
  // A GPU's vectors have 16 bytes at most. Local memory lies elsewhere here than on a GPU.
  const size_t needed = std::min<size_t>(alignment, 16);
  if (reinterpret_cast<uintptr_t>(p) % needed == 0 || size_t(c - executor_->lane->stack) < kStackOfThread)
    return;
  char hex[32];
  std::snprintf(hex, sizeof hex, "%p", p);
  Finding f{.kind = Kind::misaligned,
            .file = file,
            .line = line,
            .text = std::string(write ? "write" : "read") + " of a structure of type " + type + " at " + hex +
                    ", which is no multiple of " + std::to_string(needed)};
  if (const SourceLine at = source_of(pc); at.file.ends_with(f.file)) f.file = at.file;
  executor_->abandon(std::move(f));
}

void TraceFind::index_was_bad() {
  if (bad_index_.lane == nullptr || bad_index_.lane != executor_->lane) return;
  bad_index_.lane = nullptr;
  executor_->abandon(std::move(bad_index_.finding));
}

Finding TraceFind::illegal_access(const char* c, size_t bytes, uint8_t how) const {
  Finding f{.kind = Kind::out_of_bounds};
  char hex[32];
  std::snprintf(hex, sizeof hex, "%p", static_cast<const void*>(c));
  const Allocation* a = global_at(c);
  if (a == nullptr && !is_device(c)) a = device_variable_near(c);
  if (a != nullptr) {
    const std::string of = a->name + " (" + std::to_string(a->bytes) + " bytes)";
    if (!a->live || a->given_back) {
      f.kind = Kind::use_after_free;
      f.text = in_words(how, bytes) + " in " + of + ", which has been " + (a->live ? "given back" : "freed");
    } else if (c < a->begin) {
      f.text =
          in_words(how, bytes) + ", " + std::to_string(a->begin - c) + " bytes before the beginning of " + of;
    } else {
      f.text = in_words(how, bytes) + ", " + std::to_string(c - (a->begin + a->bytes)) +
               " bytes past the end of " + of;
      if (c < a->begin + a->bytes) f.text = in_words(how, bytes) + " over the end of " + of;
    }
  } else if (is_device(c)) {
    f.text = in_words(how, bytes) + " at " + hex + ", where no device memory is allocated";
  } else if (c >= shared_.dynamic.begin() - 256 &&
             c < shared_.dynamic.begin() +
                     (executor_->arena != nullptr ? kProgramArena : shared_.dynamic.bytes() + 256)) {
    f.text = in_words(how, bytes) + " in dynamic shared memory at byte " +
             std::to_string(c - shared_.dynamic.begin()) + " of " + std::to_string(shared_.dynamic.bytes());
  } else if (shared_.fixed.holds(c)) {
    f.text = in_words(how, bytes) + " in shared memory, " + shared_.where(c);
  } else if (const Cluster::Place there = cluster_ != nullptr ? cluster_->peer_at(c) : Cluster::Place{};
             there.rank >= 0) {
    f.text = in_words(how, bytes) + " over the end of the shared memory of the block of rank " +
             std::to_string(there.rank) + " of the cluster";
  } else {
    f.text = in_words(how, bytes) + " at " + hex + ", which is no device memory" +
             (reinterpret_cast<uintptr_t>(c) < 4096 ? " (a null pointer)"
                                                    : ": kernels have no access to memory of the host");
  }
  return f;
}

bool TraceFind::may_go_on(const char* c, size_t bytes, uint8_t how) {
  // An asynchronous copy is made later, by the executor.
  if (!session_->options().goes_on || (how & kAsync) != 0) return false;
  const char* arena = executor_->arena;
  const Module* m = is_device(c) ? nullptr : module_at(c);
  const bool mapped = (shared_.fixed.holds(c) && shared_.fixed.offset(c) + bytes <= shared_.fixed.bytes()) ||
                      (arena != nullptr && c >= arena && c + bytes <= arena + kProgramArena) ||
                      (m != nullptr && c >= m->writable_begin && c + bytes <= m->writable_end &&
                       (c + bytes <= m->constant_begin || c >= m->constant_end));
  if (!mapped && !is_device(c)) return false;
  // Zeros only where no other thread's data lie.
  const Allocation* a = is_device(c) ? owner_of(c) : nullptr;
  const bool inside = a != nullptr && a->live && c + bytes > a->begin && c < a->begin + a->bytes;
  return contained_.add(executor_->lane, c, bytes, structure(), mapped, (how & kWrite) == 0 && !inside);
}

void TraceFind::illegal(const void* p, size_t bytes, uint8_t how, const void* pc) {
  const auto* c = static_cast<const char*>(p);
  Finding f = illegal_access(c, bytes, how);
  if (bad_index_.lane != nullptr && bad_index_.lane == executor_->lane) {
    f = std::move(bad_index_.finding);
    bad_index_.lane = nullptr;
  } else {
    place(f, pc);
  }
  executor_->in_turn();
  if (!may_go_on(c, bytes, how)) executor_->abandon(std::move(f));
  unsettled_ = true;
  executor_->report(std::move(f));
}

bool TraceFind::is_constant(const char* c, size_t bytes, uint8_t how, const void* pc, Allocation** variable) {
  const bool parameter = c >= parameters_ && c + bytes <= parameters_ + parameter_bytes_;
  const Module* m = parameter ? nullptr : module_at(c);
  if (!parameter && m == nullptr) {
    illegal(c, bytes, how, pc);
    return true;
  }
  if (!parameter && c >= m->writable_begin && c < m->writable_end &&
      (c < m->constant_begin || c >= m->constant_end)) {
    *variable = device_variable_at(c);
    if (*variable == nullptr) illegal(c, bytes, how, pc);
    return *variable == nullptr;
  }
  if (!parameter && !(how & kWrite) && count_.counts() && c >= m->constant_begin && c < m->constant_end)
    count_.read_constant(c, bytes, how, pc);
  if (how & kWrite) {
    Finding f{.kind = Kind::write_to_constant,
              .text = in_words(how, bytes) + (parameter ? " in the parameters" : "")};
    place(f, pc);
    executor_->abandon(std::move(f));
  }
  return true;
}

void TraceFind::misaligned(const void* p, size_t bytes, uint8_t how, const void* pc) {
  Finding f{.kind = Kind::misaligned};
  char hex[32];
  std::snprintf(hex, sizeof hex, "%p", p);
  f.text = in_words(how, bytes) + " at " + hex + ", which is no multiple of " + std::to_string(bytes);
  place(f, pc);
  executor_->abandon(std::move(f));
}

std::string TraceFind::readers_of(uint16_t set) const {
  std::string products, warps;
  for (const ReaderSets::Reader& r : async_.readers()[set]) {
    if (AsyncOrder::is_agent(r.who)) {
      if (cluster_ == nullptr || is_of_my_block(r.interval)
              ? !async_.is_over(executor_->lane->warp, interval_, r.who, r.sync)
              : !ordered(r.interval, r.who, r.sync))
        products = why_agent(AsyncOrder::kind_of(r.who));
    } else {
      warps += (warps.empty() ? " (warps " : ", ") + std::to_string(r.who & 0xFF);
    }
  }
  if (!products.empty()) return products;
  return (warps.empty() ? "" : warps + ")") + " with no barrier between";
}

std::string TraceFind::who(uint32_t interval, uint16_t thread) const {
  if (thread == Cell::kGrid) return "other blocks";
  std::string text;
  if (is_of_another(interval)) text = "block " + triple(block_of(interval), executor_->grid_dim) + ", ";
  if (thread == Cell::kBlock || thread == AsyncOrder::kSeveral) return text + "other threads";
  if (AsyncOrder::is_agent(thread))
    return text + (AsyncOrder::kind_of(thread) == AgentKind::products ? "wgmma" : "a bulk copy");
  if (thread & Cell::kWarp) return text + "other lanes of warp " + std::to_string(thread & 0xFF);
  return text + "thread " + triple(thread, executor_->block_dim);
}

std::string TraceFind::name_in_shared(const char* p, uint16_t site) const {
  const SharedMemory& o = *owner_;
  if (!o.fixed.holds(p) && !o.dynamic.holds(p) && cluster_ != nullptr)
    if (const Cluster::Place there = cluster_->peer_at(p); there.rank >= 0) p = there.own;
  const Module* m = o.fixed.holds(p) && !o.dynamic.holds(p) ? module_at(place_of(site)) : nullptr;
  const std::string name = m ? shared_name(*m, o.fixed.offset(p))
                             : "dynamic shared memory, byte " + std::to_string(o.dynamic.offset(p));
  if (&o == &shared_) return name;
  return name + ", of block " + triple(executor_->grid->order[(*cluster_)[o.rank].turn], executor_->grid_dim);
}

void TraceFind::race(Cell& c, bool with_writer, const char* p, unsigned bytes, uint8_t how, uint16_t site,
                     bool shared) {
  const uint32_t interval = with_writer ? c.write_interval : c.read_interval;
  const uint16_t other_site = with_writer ? c.write_site : c.read_site;
  uint16_t thread = with_writer ? c.writer : c.reader;
  Finding f{.kind = shared ? Kind::shared_race : Kind::global_race};
  std::string what = "memory";
  if (shared) {
    what = name_in_shared(p, site);
  } else if (const Allocation* a = global_at(p)) {
    what = a->name + ", byte " + std::to_string(p - a->begin);
  }
  const bool other_block = is_of_another(interval) || thread == Cell::kGrid;
  const bool lacks_fence = unfenced_now_ != nullptr && [&] {
    const Unfenced* const mine = std::exchange(unfenced_now_, nullptr);
    const bool is_ordered = ordered(interval, thread, with_writer ? c.write_sync : c.read_sync);
    unfenced_now_ = mine;
    return is_ordered;
  }();
  const std::string why =
      AsyncOrder::is_agent(thread) ? why_agent(AsyncOrder::kind_of(thread))
      : lacks_fence ? ". This thread has seen by an atomic or a flag that it is there, but no fence "
                      "(__threadfence) lies between that and this access"
      : other_block ? " with nothing between the blocks that orders them"
      : thread == AsyncOrder::kSeveral  ? readers_of(c.read_sync)
      : shared || interval == interval_ ? " with no barrier between"
                                        : "";
  if (const EarlierWork* other = interval < launch_first_ ? unordered_at(interval) : nullptr;
      other != nullptr && other->until_wait) {
    f.text = did((how & kWrite) != 0, (how & kAtomic) != 0) + what + ", which " + other->what +
             (with_writer ? " writes" : " reads") +
             "; this launch may begin before that one has ended: griddepcontrol.wait "
             "(cudaGridDependencySynchronize) must come first";
    place(f, place_of(site));
    f = executor_->placed(std::move(f));
  } else if (interval < launch_first_) {
    f.kind = Kind::not_synchronized;
    f.text = did((how & kWrite) != 0, (how & kAtomic) != 0) + what + ", which " + other->what +
             (with_writer ? " has written" : " has read") + " in another stream; nothing orders this launch" +
             in_streams->at + " behind it (cudaStreamWaitEvent, cudaStreamSynchronize)";
    place(f, place_of(site));
    f = executor_->placed(std::move(f));
  } else if (const EarlierWork* copy = meanwhile_at(interval); copy != nullptr) {
    f.kind = Kind::not_synchronized;
    f.text = did((how & kWrite) != 0, (how & kAtomic) != 0) + what + ", which " + copy->what +
             (with_writer ? " has written" : " has read") + " in another stream while this launch runs; " +
             (lacks_fence ? "no fence (__threadfence) lies between the flag that tells so and this access"
                          : "no flag that the thread has read (volatile or atomic) orders the two");
    place(f, place_of(site));
    f = executor_->placed(std::move(f));
  } else if (comes_behind_me(interval)) {
    // That block ran ahead. Report the race as if that block had come after this one.
    if (thread == Cell::kGrid) thread = c.read_sync;
    const bool several = thread == Cell::kBlock || (thread & Cell::kWarp) != 0;
    f.text = did(with_writer, grid_->is_atomic(other_site)) + what + ", which " + who_am_i() +
             ((how & kWrite) != 0 ? " wrote" : " read") + " at line " +
             std::to_string(source_of(place_of(site)).line) + why +
             (several ? "; several threads of the block do" : "");
    place(f, place_of(other_site));
    f = executor_->placed(std::move(f));
    const uint64_t b = block_of(interval);
    const unsigned *grid = executor_->grid_dim, *block = executor_->block_dim;
    const unsigned t = thread == Cell::kBlock        ? 0
                       : (thread & Cell::kWarp) != 0 ? (thread & 0xFFU) * 32
                                                     : thread;
    f.block[0] = unsigned(b % grid[0]), f.block[1] = unsigned(b / grid[0] % grid[1]),
    f.block[2] = unsigned(b / grid[0] / grid[1]);
    f.thread[0] = t % block[0], f.thread[1] = t / block[0] % block[1], f.thread[2] = t / block[0] / block[1];
  } else {
    f.text = did((how & kWrite) != 0, (how & kAtomic) != 0) + what + ", which " + who(interval, thread) +
             (with_writer ? " wrote" : " read") + " at line " +
             std::to_string(source_of(place_of(other_site)).line) + why;
    place(f, place_of(site));
    f = executor_->placed(std::move(f));
  }
  // A plain read of a word that atomics write may be a hint for an atomic of the same thread (kDecides), which
  // may come later.
  if (with_writer && (how & (kWrite | kAtomic | kVolatile)) == 0 && c.write_atomic && !c.write_volatile)
    f.unless_hint = place_of(site);
  if (!with_writer && (how & kAtomic) != 0 && !c.read_atomic) f.unless_hint = place_of(other_site);
  const bool of_volatiles = (how & kVolatile) != 0 && !shared;
  if ((how & kWrite) && !(how & (kAtomic | kAsync)) &&
      (with_writer ? !c.write_atomic || c.write_volatile : of_volatiles)) {
    // Two threads that write the same value do no harm. Whether they do is known only after the write.
    if (doubt_.p != nullptr) return;
    doubt_.may_be_flag = of_volatiles;
    // CUB stores what it discards in one place, from all lanes.
    const bool discards = shared && bytes == 4 && with_writer && !of_volatiles && other_site == site &&
                          owner_ == &shared_ && library_part_at(place_of(site)) == LibraryPart::cub;
    doubt_.until_read = discards ? &c : nullptr;
    doubt_.p = p;
    unsettled_ = true;
    doubt_.bytes = bytes;
    std::memcpy(doubt_.before, p, bytes);
    doubt_.finding = std::move(f);
    return;
  }
  executor_->add(f);
}

std::string TraceFind::who_am_i() const {
  return "block " + triple(executor_->block_number, executor_->grid_dim) + ", thread " +
         triple(executor_->lane->thread, executor_->block_dim);
}

bool TraceFind::is_one(const char* p, unsigned bytes) {
  return p[0] == 1 && std::all_of(p + 1, p + bytes, [](char c) { return c == 0; });
}

void TraceFind::settle() {
  if (!unsettled_) return;
  judge();
  contained_.undo();
  unsettled_ = bad_index_.lane != nullptr;
}

void TraceFind::judge() {
  if (doubt_.p == nullptr) return;
  const bool changed = std::memcmp(doubt_.before, doubt_.p, doubt_.bytes) != 0;
  const bool is_flag = doubt_.may_be_flag && is_one(doubt_.p, doubt_.bytes);
  const char* const word = std::exchange(doubt_.p, nullptr);
  if (!changed || is_flag) return;
  if (doubt_.until_read == nullptr) {
    executor_->add(doubt_.finding);
    return;
  }
  Cell& cell = *doubt_.until_read;
  cell.defined = 0;
  auto at = std::ranges::find(losses_, word, &Loss::word);
  if (at == losses_.end()) at = losses_.insert(at, Loss{.word = word});
  at->interval = cell.write_interval;
  at->writer = cell.writer;
  at->finding = std::move(doubt_.finding);
}

bool TraceFind::is_read_after_loss(const Cell& cell, const char* word) {
  const auto at = std::ranges::find(losses_, word, &Loss::word);
  if (at == losses_.end() || at->interval != cell.write_interval || at->writer != cell.writer) return false;
  executor_->add(at->finding);
  losses_.erase(at);
  return true;
}

}  // namespace klab::simt
