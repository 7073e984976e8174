#include "harness/simt/recording.h"

#include <algorithm>
#include <utility>

#include "harness/simt/executor.h"
#include "harness/simt/memory.h"
#include "harness/simt/modules.h"

namespace klab::simt {
namespace {

constexpr size_t kSectorBytes = 32;
thread_local Recording* recording_of_thread = nullptr;

/// Calls `each(at, times)` for the sectors of a request: an address in it that a lane uses, and how often it is sent. The sum over
/// them is Counts::sectors (cost_of() in trace_count.cpp; tests/simt/test_recording.cpp holds both together).
template <class Each>
void each_sector(bool atomic, uint32_t bytes, uint32_t mask, const uintptr_t* address, Each each) {
  uintptr_t sorted[32];
  unsigned count = 0;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) sorted[count++] = address[__builtin_ctz(rest)];
  std::sort(sorted, sorted + count);
  if (atomic) {
    uint32_t most = 0, same = 0;
    for (unsigned i = 0; i < count; ++i) {
      same = i > 0 && sorted[i] == sorted[i - 1] ? same + 1 : 1;
      most = std::max(most, same);
      if (i + 1 == count || sorted[i + 1] / kSectorBytes != sorted[i] / kSectorBytes) {
        each(sorted[i], most);
        most = 0;
      }
    }
    return;
  }
  uintptr_t next = 0;
  for (unsigned i = 0; i < count; ++i) {
    const uintptr_t last = (sorted[i] + bytes - 1) / kSectorBytes;
    for (uintptr_t s = std::max(next, sorted[i] / kSectorBytes); s <= last; ++s)
      each(std::max(sorted[i], s * kSectorBytes), 1U);
    next = std::max(next, last + 1);
  }
}

void first_use(SectorUse& use, const Executor& executor, unsigned warp) {
  if (std::exchange(use.used, true)) return;
  use.first_block = uint32_t(executor.block_number);
  use.first_warp = uint16_t(warp);
}

/// Returns the address from which banks are counted for a kernel's access there: the begin of its shared memory. Only a multiple of
/// a bank's bytes keeps words apart.
uintptr_t shared_base(const Executor& executor, uintptr_t address) {
  const auto dynamic = reinterpret_cast<uintptr_t>(executor.dynamic_shared),
             fixed = reinterpret_cast<uintptr_t>(executor.static_shared);
  if (address - dynamic < executor.launch->shared_bytes) return dynamic;
  if (address - fixed >= executor.static_shared_bytes) return 0;
  const std::vector<SharedVariable> variables = shared_variables_of(executor.launch->kernel);
  return fixed + (variables.empty() ? 0 : variables.front().offset / 4 * 4);
}

}  // namespace

Recording::Recording() : outer_(recording_of_thread) { recording_of_thread = this; }

Recording::~Recording() { finish(); }

Recording* Recording::current() { return recording_of_thread; }

void Recording::say(const std::string& what) {
  if (std::ranges::find(left_out_, what) == left_out_.end()) left_out_.push_back(what);
}

size_t Recording::bytes() const {
  size_t sum = accesses_.size() * sizeof(RecordedAccess) + code_.size() * sizeof(RecordedCode) +
               mergeable_.size() * sizeof(decltype(mergeable_)::value_type);
  for (const RecordedArray& a : arrays_) sum += a.cells.size() * sizeof(SectorUse);
  for (const RecordedBlock& b : blocks_) {
    sum += b.events * sizeof(BlockEvent);
    for (const auto& of_warp : b.lanes) sum += of_warp.size() * sizeof(RequestLanes);
  }
  sum += heats_ * 32 * kHeatColumns * sizeof(uint32_t);
  return sum;
}

void Recording::launch_begins(const LaunchRecord& launch) {
  launch_ = launch;
  kept_ = false;
  wanted_ = false;
  if (kernels_.contains(launch.kernel)) return;
  if (blocks_.size() >= kMostBlocks)
    return say("time lines of kernels after the first " + std::to_string(kMostBlocks));
  wanted_ = true;
}

void Recording::block_begins(const Executor& executor) {
  if (!wanted_ || executor.block_number != 0) return;
  wanted_ = false;
  kept_ = true;
  kernels_.insert(launch_.kernel);
  barriers_.clear();
  RecordedBlock& b = blocks_.emplace_back();
  b.kernel = launch_.kernel;
  std::copy(launch_.grid, launch_.grid + 3, b.grid);
  std::copy(launch_.block, launch_.block + 3, b.block);
  b.warps.resize(executor.warps());
  b.lanes.resize(std::min<size_t>(executor.warps(), kMostSteppedWarps));
}

bool Recording::keeps(const Executor& executor) const { return kept_ && executor.block_number == 0; }

void Recording::add(const Executor& executor, unsigned warp, const BlockEvent& event) {
  if (!keeps(executor)) return;
  RecordedBlock& b = blocks_.back();
  if (b.cut) return;
  std::vector<BlockEvent>& events = b.warps[warp];
  if (event.what == Note::code && !events.empty() && events.back().what == Note::code &&
      events.back().lanes == event.lanes) {
    events.back().amount += event.amount;
    return;
  }
  // A warp that is cut off would hold up the others: all stop.
  if (b.events >= kMostBlockEvents) {
    b.cut = true;
    return say("events of " + b.kernel + " after the first " + std::to_string(kMostBlockEvents));
  }
  ++b.events;
  events.push_back(event);
}

RecordedArray* Recording::array_at(uintptr_t address, uintptr_t* first_sector) {
  const uintptr_t sector = address / kSectorBytes;
  if (last_array_ < places_.size() && sector >= places_[last_array_].first &&
      sector < places_[last_array_].second) {
    *first_sector = places_[last_array_].first;
    return &arrays_[last_array_];
  }
  const Allocation* a = global_at(reinterpret_cast<const void*>(address));
  if (a == nullptr) return nullptr;
  const auto begin = reinterpret_cast<uintptr_t>(a->begin);
  const auto [at, fresh] = array_of_.try_emplace({a->name, begin}, arrays_.size());
  const uintptr_t first = begin / kSectorBytes, end = (begin + a->bytes + kSectorBytes - 1) / kSectorBytes;
  if (fresh && arrays_.size() >= kMostArrays) {
    array_of_.erase(at);
    say("arrays after the first " + std::to_string(kMostArrays) + ", among them some of " + launch_.kernel);
    return nullptr;
  }
  if (fresh) {
    RecordedArray& array = arrays_.emplace_back();
    array.name = a->name.empty() ? "array " + std::to_string(arrays_.size()) : a->name;
    array.bytes = a->bytes;
    array.lead = begin % kSectorBytes;
    const size_t sectors = std::max<size_t>(1, end - first);
    array.sectors_per_cell = (sectors + kMostCells - 1) / kMostCells;
    array.cells.resize((sectors + array.sectors_per_cell - 1) / array.sectors_per_cell);
    places_.emplace_back(first, first + sectors);
  }
  last_array_ = at->second;
  // A name and a place that are used again with another size: uses beyond the first size belong to no cell.
  if (sector < places_[last_array_].first || sector >= places_[last_array_].second) return nullptr;
  *first_sector = places_[last_array_].first;
  return &arrays_[last_array_];
}

SectorUse* Recording::cell_at(uintptr_t address, RecordedArray** array, size_t* index) {
  uintptr_t first = 0;
  *array = array_at(address, &first);
  if (*array == nullptr) return nullptr;
  *index = (address / kSectorBytes - first) / (*array)->sectors_per_cell;
  return &(*array)->cells[*index];
}

size_t Recording::access_of(const Site& site, uint32_t bytes) {
  const unsigned kind = unsigned(site.space) * 4 + (site.write ? 2U : 0U) + (site.atomic ? 1U : 0U);
  const auto [at, fresh] = access_of_.try_emplace({site.pc, kind}, accesses_.size());
  if (!fresh) return at->second;
  if (accesses_.size() >= kMostRecordedPlaces) {
    access_of_.erase(at);
    say("accesses after the first " + std::to_string(kMostRecordedPlaces));
    return accesses_.size();
  }
  RecordedAccess& a = accesses_.emplace_back();
  a.pc = site.pc;
  a.space = site.space;
  a.write = site.write;
  a.atomic = site.atomic;
  a.copies = copies_.contains(site.pc);
  a.width = bytes;
  one_address_.push_back(true);
  return at->second;
}

void Recording::request(const Executor& executor, unsigned warp, const Site& site, uint32_t bytes,
                        uint32_t mask, const uintptr_t* address, const Counts& cost) {
  const size_t which = access_of(site, bytes);
  if (which == accesses_.size()) return;
  RecordedAccess& a = accesses_[which];
  a.counts.add(cost);
  a.fewest_lanes = std::min(a.fewest_lanes, unsigned(cost.lanes));
  a.most_lanes = std::max(a.most_lanes, unsigned(cost.lanes));
  one_address_[which] = one_address_[which] && site.one_address;
  add(executor, warp, {.what = Note::access, .lanes = mask, .value = uint32_t(which), .amount = bytes});
  add_lanes(executor, warp, a.space, mask, address);
  add_heat(a, bytes, mask, address);
  if (a.space == Space::shared && cost.conflicts() >= a.worst.passes - a.worst.least &&
      (a.worst.mask == 0 || cost.conflicts() > a.worst.passes - a.worst.least)) {
    a.worst = {.mask = mask,
               .bytes = bytes,
               .block = executor.block_number,
               .warp = warp,
               .passes = cost.wavefronts,
               .least = cost.ideal_wavefronts};
    const uintptr_t base = shared_base(executor, address[__builtin_ctz(mask)]);
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      const int lane = __builtin_ctz(rest);
      a.worst.address[lane] = address[lane] - base;
    }
  }
  if (a.space != Space::global) return;
  each_sector(a.atomic, bytes, mask, address, [&](uintptr_t at, uint32_t times) {
    RecordedArray* array = nullptr;
    size_t index = 0;
    SectorUse* const use = cell_at(at, &array, &index);
    if (use == nullptr) return;
    first_use(*use, executor, warp);
    if (!a.atomic) {
      (a.write ? use->writes : use->reads) += times;
      return;
    }
    const std::pair key{which, std::pair(size_t(array - arrays_.data()), index)};
    if (!site.merges || (mergeable_.size() >= kMostMerged && !mergeable_.contains(key))) {
      use->atomics += times;
      return;
    }
    Mergeable& m = mergeable_[key];
    m.sent += times;
    ++m.requests;
  });
}

void Recording::add_lanes(const Executor& executor, unsigned warp, Space space, uint32_t mask,
                          const uintptr_t* address) {
  if (!keeps(executor) || warp >= kMostSteppedWarps || blocks_.back().cut) return;
  std::vector<RequestLanes>& list = blocks_.back().lanes[warp];
  if (list.size() >= kMostSteppedRequests) return;
  RequestLanes& r = list.emplace_back();
  const uintptr_t one = address[__builtin_ctz(mask)];
  uintptr_t first = 0, begin = 0;
  if (space == Space::shared) {
    begin = shared_base(executor, one);
  } else if (const RecordedArray* a = space == Space::global ? array_at(one, &first) : nullptr;
             a != nullptr) {
    r.array = int(a - arrays_.data());
    begin = first * kSectorBytes + a->lead;
  }
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    const uintptr_t offset = address[lane] - begin;
    const bool outside = r.array >= 0 ? offset >= arrays_[size_t(r.array)].bytes : space != Space::shared;
    r.offset[lane] = outside ? RequestLanes::kElsewhere : uint32_t(offset);
  }
}

void Recording::add_heat(RecordedAccess& a, uint32_t bytes, uint32_t mask, const uintptr_t* address) {
  if (a.space == Space::constant || (a.heat.bytes == 0 && heats_ >= kMostHeats)) return;
  uintptr_t low = ~uintptr_t(0), high = 0;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    low = std::min(low, address[__builtin_ctz(rest)]);
    high = std::max(high, address[__builtin_ctz(rest)] + bytes);
  }
  LaneHeat& h = a.heat;
  if (h.bytes == 0) {
    // The first request decides: the fewest bytes, a power of two, of which all columns reach its last address.
    h.bytes = 4;
    while (uint64_t(h.bytes) * kHeatColumns < high - low) h.bytes *= 2;
    h.times.assign(size_t(32) * kHeatColumns, 0);
    ++heats_;
  }
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const auto lane = unsigned(__builtin_ctz(rest));
    const uintptr_t from = (address[lane] - low) / h.bytes, to = (address[lane] - low + bytes - 1) / h.bytes;
    for (uintptr_t c = from; c <= std::min<uintptr_t>(to, from + kHeatColumns); ++c)
      ++h.times[lane * kHeatColumns + std::min<uintptr_t>(c, kHeatColumns - 1)];
  }
}

void Recording::finish() {
  if (std::exchange(ended_, true)) return;
  recording_of_thread = outer_;
  for (const auto& [key, m] : mergeable_) {
    RecordedAccess& a = accesses_[key.first];
    a.merged = a.merged || (one_address_[key.first] && a.counts.lanes > a.counts.requests);
    arrays_[key.second.first].cells[key.second.second].atomics += a.merged ? m.requests : m.sent;
  }
  mergeable_.clear();
  for (RecordedAccess& a : accesses_) {
    if (!a.merged) continue;
    Site site;
    site.width = a.width;
    site.counts = a.counts;
    a.counts = site.as_merged();
    a.fewest_lanes = a.most_lanes = 1;
  }
}

void Recording::entered(const Executor& executor, unsigned warp, uintptr_t block, uint32_t mask) {
  const auto [at, fresh] = code_of_.try_emplace(block, code_.size());
  // Blocks for which there is no room have the number behind the last one.
  add(executor, warp, {.what = Note::code, .lanes = mask, .value = uint32_t(at->second), .amount = 1});
  if (fresh && code_.size() >= kMostRecordedPlaces) {
    code_of_.erase(at);
    return say("blocks of code after the first " + std::to_string(kMostRecordedPlaces));
  }
  if (fresh) code_.push_back({.pc = reinterpret_cast<const void*>(block)});
  RecordedCode& c = code_[at->second];
  const auto lanes = unsigned(__builtin_popcount(mask));
  ++c.times;
  c.lanes += lanes;
  c.fewest_lanes = std::min(c.fewest_lanes, lanes);
  c.most_lanes = std::max(c.most_lanes, lanes);
}

void Recording::engine_range(const Executor& executor, const char* p, size_t bytes, bool write) {
  const auto from = reinterpret_cast<uintptr_t>(p);
  for (uintptr_t s = from / kSectorBytes; s <= (from + bytes - 1) / kSectorBytes; ++s) {
    RecordedArray* array = nullptr;
    size_t index = 0;
    SectorUse* const use = cell_at(std::max(from, s * kSectorBytes), &array, &index);
    if (use == nullptr) continue;
    first_use(*use, executor, executor.lane != nullptr ? executor.lane->warp : 0);
    ++(write ? use->writes : use->reads);
  }
}

void Recording::engine_request(const Site& site, const Counts& cost) {
  const size_t which = access_of(site, site.width);
  if (which == accesses_.size()) return;
  accesses_[which].engine = true;
  accesses_[which].counts.add(cost);
}

void Recording::note(const Executor& executor, unsigned warp, BlockEvent event) {
  add(executor, warp, event);
}

void Recording::met(const Executor& executor, Note what) {
  if (!keeps(executor)) return;
  for (unsigned w = 0; w < executor.warps(); ++w)
    if (executor.ended(w) != ~0U) add(executor, w, {.what = what, .lanes = ~executor.ended(w)});
}

uint16_t Recording::barrier(const void* at, const std::string& name) {
  RecordedBlock& b = blocks_.back();
  const auto [known, fresh] = barriers_.try_emplace(at, uint16_t(b.barriers.size()));
  if (fresh) b.barriers.push_back(name);
  return known->second;
}

}  // namespace klab::simt
