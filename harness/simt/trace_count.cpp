#include "harness/simt/trace_count.h"

#include <algorithm>
#include <utility>

#include "harness/simt/banks.h"
#include "harness/simt/modules.h"
#include "harness/simt/recording.h"

namespace klab::simt {
namespace {

constexpr unsigned kSector = 32;

/// Returns the passes that shared memory needs for some lanes' accesses: the largest number of distinct words
/// in one bank.
int64_t passes(const uintptr_t* address, uint32_t mask, unsigned words) {
  uintptr_t first = ~uintptr_t(0), last = 0;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const uintptr_t word = address[__builtin_ctz(rest)] / 4;
    first = std::min(first, word);
    last = std::max(last, word);
  }
  // at most 32 consecutive words lie in distinct banks
  if (mask != 0 && last + words - first <= kBanks) return 1;
  uint32_t seen[kBanks][32];
  uint8_t count[kBanks] = {};
  int64_t most = mask != 0 ? 1 : 0;
  for (unsigned i = 0; i < 32; ++i) {
    if ((mask >> i & 1) == 0) continue;
    for (unsigned w = 0; w < words; ++w) {
      const auto word = uint32_t(address[i] / 4 + w);
      const unsigned bank = word % kBanks;
      unsigned k = 0;
      while (k < count[bank] && seen[bank][k] != word) ++k;
      if (k < count[bank]) continue;
      seen[bank][count[bank]++] = word;
      most = std::max<int64_t>(most, count[bank]);
    }
  }
  return most;
}

/// Returns the lanes of a mask from `from` on, `count` of them.
uint32_t part_of(uint32_t mask, unsigned from, unsigned count) {
  return mask & uint32_t(((uint64_t(1) << count) - 1) << from);
}

/// Returns whether every pair of active lanes n and n^1, or every pair n and n^2, has the same address.
bool in_pairs(const uintptr_t* address, uint32_t mask) {
  for (const unsigned apart : {1u, 2u}) {
    bool all = true;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      const auto i = unsigned(__builtin_ctz(rest));
      if ((mask >> (i ^ apart) & 1) != 0) all = all && address[i] == address[i ^ apart];
    }
    if (all) return true;
  }
  return false;
}

/// Counts the wavefronts of a request that does not access consecutive addresses.
void count_wavefronts(Counts& n, bool write, uint32_t bytes, uint32_t mask, const uintptr_t* address) {
  for (const uint32_t part : bank_groups(write, bytes, mask, address)) {
    if (part == 0) break;
    n.wavefronts += passes(address, part, words_of_access(bytes));
    n.ideal_wavefronts += 1;
  }
}

int64_t sectors_of(const uintptr_t* sorted, unsigned count, uint32_t bytes) {
  uintptr_t last = 0;
  int64_t sectors = 0;
  for (unsigned i = 0; i < count; ++i) {
    const uintptr_t from = std::max(last, sorted[i] / kSector), to = (sorted[i] + bytes - 1) / kSector;
    if (to < from) continue;
    const uintptr_t first = sorted[i] / kSector == last ? last + 1 : from;
    sectors += int64_t(to + 1 - first);
    last = to;
  }
  return sectors;
}

/// Returns the sectors of atomics. A sector is sent once for all lanes that have distinct words in it, so as
/// often as its most frequent address occurs. Measured on an H200 (Nsight Compute's sectors of op_red).
int64_t atomic_sectors_of(const uintptr_t* sorted, unsigned count) {
  int64_t sectors = 0, most = 0, same = 0;
  for (unsigned i = 0; i < count; ++i) {
    same = i > 0 && sorted[i] == sorted[i - 1] ? same + 1 : 1;
    if (i > 0 && sorted[i] / kSector != sorted[i - 1] / kSector) {
      sectors += most;
      most = 0;
    }
    most = std::max(most, same);
  }
  return sectors + most;
}

/// Returns whether all lanes access consecutive addresses, as in most requests of most kernels.
bool neighbors(uint32_t bytes, uint32_t mask, const uintptr_t* address) {
  if (mask != ~0u || bytes > 16) return false;
  uintptr_t off = 0;
  for (unsigned i = 0; i < 32; ++i) off |= address[i] - address[0] - uintptr_t(i) * bytes;
  return off == 0;
}

Counts cost_of_neighbors(Space space, uint32_t bytes, uintptr_t first) {
  const uintptr_t all = uintptr_t(32) * bytes;
  Counts n{.requests = 1, .lanes = 32, .bytes = int64_t(all)};
  if (space == Space::global) {
    n.sectors = int64_t((first + all - 1) / kSector - first / kSector + 1);
    n.ideal_sectors = n.lane_sectors = int64_t((all + kSector - 1) / kSector);
  } else {
    n.wavefronts = n.ideal_wavefronts = bytes >= 16 ? 4 : bytes >= 8 ? 2 : 1;
  }
  return n;
}

}  // namespace

std::array<uint32_t, 4> bank_groups(bool write, uint32_t bytes, uint32_t mask, const uintptr_t* address) {
  // 32 lanes of 4 bytes fill the banks; wider accesses are served by groups of lanes.
  const unsigned words = words_of_access(bytes);
  const unsigned group = words >= 4 ? 8 : words >= 2 ? 16 : 32;
  std::array<uint32_t, 4> parts{};
  size_t count = 0;
  for (unsigned from = 0; from < 32;) {
    unsigned lanes_served = group;
    // Two neighboring groups of a load are served as one where lanes read the same in pairs.
    if (group < 32 && from % (2 * group) == 0 && !write && in_pairs(address, part_of(mask, from, 2 * group)))
      lanes_served = 2 * group;
    const uint32_t part = part_of(mask, from, lanes_served);
    from += lanes_served;
    if (part != 0) parts[count++] = part;
  }
  return parts;
}

Counts cost_of(Space space, bool write, bool atomic, uint32_t bytes, uint32_t mask,
               const uintptr_t* address) {
  if (space != Space::constant && neighbors(bytes, mask, address) && (bytes & (bytes - 1)) == 0 &&
      address[0] % bytes == 0)
    return cost_of_neighbors(space, bytes, address[0]);
  const int lanes = __builtin_popcount(mask);
  Counts n{.requests = 1, .lanes = lanes, .bytes = int64_t(lanes) * bytes};
  uintptr_t sorted[32];
  unsigned count = 0;
  bool ascending = true;
  for (unsigned i = 0; i < 32; ++i) {
    if ((mask >> i & 1) == 0) continue;
    ascending = ascending && (count == 0 || sorted[count - 1] <= address[i]);
    sorted[count++] = address[i];
  }
  const bool global = space == Space::global;
  int64_t distinct = 0;
  if (space != Space::shared || atomic) {
    if (!ascending) std::sort(sorted, sorted + count);
    for (unsigned i = 0; i < count; ++i) distinct += i == 0 || sorted[i] != sorted[i - 1];
  }
  if (atomic) n.collisions = lanes - distinct;
  if (global) {
    n.sectors = atomic ? atomic_sectors_of(sorted, count) : sectors_of(sorted, count, bytes);
    n.ideal_sectors = (distinct * bytes + kSector - 1) / kSector;
    n.lane_sectors = (int64_t(lanes) * bytes + kSector - 1) / kSector;
  } else if (space == Space::constant) {
    n.wavefronts = distinct;
    n.ideal_wavefronts = 1;
  } else {
    count_wavefronts(n, write, bytes, mask, address);
  }
  return n;
}

void TraceCount::launch_begins(Executor& executor, Session& session, Profile* profile, const Launch& launch,
                               GridRun* grid) {
  executor_ = &executor;
  profile_ = profile;
  grid_ = grid;
  known_sites_.fill({});
  barriers_ = 0;
  counting_ = session.options().counts;
  recording_ = counting_ ? Recording::current() : nullptr;
  flow_ = {};
  known_flow_ = {};
  blocks_begun_ = 0;
  compiled_.launch_begins(counting_ ? session.options().compiled : nullptr, function_name(launch.kernel),
                          profile, &flow_);
}

Profile* TraceCount::joins(GridRun& grid) {
  own_profile_ = std::make_unique<Profile>(&grid);
  sites_of_block_.clear();
  is_of_block_.clear();
  edges_.clear();
  return own_profile_.get();
}

void TraceCount::leaves() {
  grid_ = nullptr;
  own_profile_.reset();
  profile_ = nullptr;
}

void TraceCount::learn(const std::vector<Flow::Edge>& news, size_t edges) {
  edges_.insert(edges_.end(), news.begin(), news.end());
  edges_.resize(edges);
}

void TraceCount::deliver(BlockResult& result) {
  result.barriers = own_record_.barriers;
  result.accesses = own_record_.thread_accesses;
  result.edges = flow_.news();
  result.sites.reserve(sites_of_block_.size());
  for (const uint16_t number : sites_of_block_) {
    Site& site = (*profile_)[number];
    result.sites.push_back(site);
    site.clear_counts();
    is_of_block_[number] = 0;
  }
  sites_of_block_.clear();
  own_record_ = {};
}

void TraceCount::block_begins() {
  if (grid_ == nullptr) {
    if (!executor_->launch->cooperative) {
      if (KnownFlow::begins_wave(blocks_begun_++)) known_flow_.begin_wave();
      flow_.begin_with(known_flow_.edges(), known_flow_.known());
    }
  } else {
    flow_.begin_with(edges_, edges_.size());
    known_sites_.fill({});
  }
  if (logs_.size() < executor_->warps()) logs_.resize(executor_->warps());
  for (WarpLog& log : logs_) log.forget();
  barriers_ = 0;
  accesses_.assign(executor_->threads(), 0);
  if (recording_ != nullptr) recording_->block_begins(*executor_);
}

void TraceCount::block_ended() {
  compiled_.block_ended();
  if (grid_ == nullptr && !executor_->launch->cooperative) known_flow_.add(flow_.news());
  if (profile_ != nullptr) {
    LaunchRecord& launch = grid_ != nullptr ? own_record_ : profile_->launches.back();
    launch.barriers = std::max(launch.barriers, barriers_);
    launch.thread_accesses = std::max(launch.thread_accesses, *std::ranges::max_element(accesses_));
  }
}

TraceCount::Parked TraceCount::park() {
  compiled_.block_ended();
  if (recording_ != nullptr) recording_->met(*executor_, Note::grid_met);
  Parked block{std::move(logs_), std::move(accesses_), barriers_};
  logs_.clear();
  return block;
}

void TraceCount::unpark(Parked block) {
  logs_ = std::move(block.logs);
  accesses_ = std::move(block.accesses);
  barriers_ = block.barriers;
}

namespace {

uint8_t kind_of(uint8_t how, Space space) { return uint8_t((how & (kWrite | kAtomic)) | (4 << int(space))); }

}  // namespace

uint16_t TraceCount::site_of(const void* pc, Space space, uint8_t how, size_t bytes) {
  const uint8_t kind = kind_of(how, space);
  KnownSite& known = known_site(pc);
  if (known.pc == pc && known.kind == kind) return known.site;
  const uint16_t site = profile_->site(pc, space, (how & kWrite) != 0, (how & kAtomic) != 0,
                                       (how & kMerges) != 0, unsigned(bytes));
  if (grid_ != nullptr) {
    if (is_of_block_.size() <= site) is_of_block_.resize(size_t(site) + 1, 0);
    if (!std::exchange(is_of_block_[site], uint8_t(1))) sites_of_block_.push_back(site);
  }
  // An asynchronous copy is also executed as written.
  if (how & (kVolatile | kAsync)) (*profile_)[site].is_volatile = true;
  known = {.pc = pc, .site = site, .kind = kind};
  return site;
}

const void* TraceCount::place_of(uint16_t site) const {
  return grid_ != nullptr ? grid_->place_of_site(site) : (*profile_)[site].pc;
}

void TraceCount::read_constant(const char* p, size_t bytes, uint8_t how, const void* pc) {
  Lane& lane = *executor_->lane;
  logs_[lane.warp].accessed(lane.lane, reinterpret_cast<uintptr_t>(p), uint32_t(bytes),
                            site_of(pc, Space::constant, how, bytes));
}

void TraceCount::barrier_passed() {
  ++barriers_;
  if (recording_ != nullptr) recording_->met(*executor_, Note::all_met);
  if (compiled_.counts()) compiled_.barrier();
}

void TraceCount::account(unsigned warp, uint16_t index, uint32_t bytes, uint32_t mask,
                         const uintptr_t* address) {
  Site& site = (*profile_)[index];
  if (site.stride == 0 && (mask & (mask - 1)) != 0) {
    const int a = __builtin_ctz(mask), b = __builtin_ctz(mask & (mask - 1));
    site.stride = (int64_t(address[b]) - int64_t(address[a])) / (b - a);
  }
  const Counts n = cost_of(site.space, site.write, site.atomic, bytes, mask, address);
  if (site.atomic && site.one_address) {
    const uintptr_t at = address[__builtin_ctz(mask)];
    site.one_address =
        n.lanes - n.collisions == 1 && (site.block != executor_->block_number || site.block_address == at);
    site.block = executor_->block_number;
    site.block_address = at;
  }
  site.counts.add(n);
  if (recording_ != nullptr) recording_->request(*executor_, warp, site, bytes, mask, address, n);
  if (compiled_.counts()) compiled_.request(warp, index, bytes, mask, address);
}

void TraceCount::copy_engine_counts(bool write, size_t width, int64_t bytes, int64_t sectors,
                                    const void* pc) {
  if (!counting_) return;
  const uint16_t number =
      site_of(pc, Space::global, uint8_t((write ? kWrite : kRead) | kAsync), unsigned(width));
  Site& site = (*profile_)[number];
  site.async = true;
  const int64_t ideal = (bytes + 31) / 32;
  const Counts cost{.requests = 1,
                    .lanes = 1,
                    .bytes = bytes,
                    .sectors = sectors,
                    .ideal_sectors = ideal,
                    .lane_sectors = ideal};
  site.counts.add(cost);
  if (compiled_.counts()) compiled_.engine_request(number, cost);
  if (recording_ != nullptr) recording_->engine_request(site, cost);
}

void TraceCount::replay(unsigned warp, uint32_t going_on) {
  if (!counting_) return;
  const auto request = [this, warp](uint16_t site, uint32_t bytes, uint32_t mask, const uintptr_t* address) {
    account(warp, site, bytes, mask, address);
  };
  if (recording_ == nullptr) return logs_[warp].replay(going_on, executor_->ended(warp), flow_, request);
  const WarpLog::Entered entered = [this, warp](uintptr_t block, uint32_t mask) {
    recording_->entered(*executor_, warp, block, mask);
  };
  logs_[warp].replay(
      going_on, executor_->ended(warp), flow_,
      [&](uint16_t site, uint32_t bytes, uint32_t mask, const uintptr_t* address) {
        site >= WarpLog::kNote ? noted(warp, site, bytes, mask, address)
                               : request(site, bytes, mask, address);
      },
      &entered);
}

// What a note holds: 16 bits for a barrier, 24 each for a phase or a number of groups, and for bytes.
namespace {
constexpr unsigned kOfValue = 24;
constexpr uint32_t kMostOfNote = (1U << kOfValue) - 1;
}  // namespace

void TraceCount::note(Note what, int line, uint32_t value, uint32_t amount, const void* barrier,
                      const std::string& name) {
  if (recording_ == nullptr || !counting_ || !recording_->keeps(*executor_)) return;
  const uintptr_t which = barrier != nullptr ? recording_->barrier(barrier, name) : 0;
  const Lane& lane = *executor_->lane;
  logs_[lane.warp].noted(lane.lane, uint8_t(what),
                         which << 2 * kOfValue | uintptr_t(std::min(value, kMostOfNote)) << kOfValue |
                             std::min(amount, kMostOfNote),
                         uint32_t(line));
}

void TraceCount::noted(unsigned warp, uint16_t site, uint32_t line, uint32_t mask, const uintptr_t* what) {
  while (mask != 0) {
    const uintptr_t one = what[__builtin_ctz(mask)];
    uint32_t same = 0;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1)
      if (what[__builtin_ctz(rest)] == one) same |= rest & (~rest + 1);
    mask &= ~same;
    recording_->note(*executor_, warp,
                     {.what = Note(site - WarpLog::kNote),
                      .barrier = uint16_t(one >> 2 * kOfValue),
                      .lanes = same,
                      .value = uint32_t(one >> kOfValue) & kMostOfNote,
                      .amount = uint32_t(one) & kMostOfNote,
                      .line = int(line)});
  }
}

}  // namespace klab::simt
