// From the lanes' logs to requests, sectors and wavefronts.
#include <algorithm>

#include "harness/simt/trace.h"

namespace klab::simt {
namespace {

constexpr unsigned kSector = 32, kBanks = 32;

/// Passes that shared memory needs for some lanes' accesses: the most distinct words that fall into one bank.
int64_t passes(const uintptr_t* address, uint32_t mask, unsigned words) {
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

/// The lanes of a mask from `from` on, `count` of them.
uint32_t part_of(uint32_t mask, unsigned from, unsigned count) {
  return mask & uint32_t(((uint64_t(1) << count) - 1) << from);
}

/// Whether all lanes n and n^1, or all n and n^2, that are both active have the same address.
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

}  // namespace

void Trace::account(uint16_t index, uint32_t bytes, uint32_t mask, const uintptr_t* address) {
  Site& site = (*profile_)[index];
  Counts& n = site.counts;
  const int lanes = __builtin_popcount(mask);
  if (site.stride == 0 && lanes > 1) {
    const int a = __builtin_ctz(mask), b = __builtin_ctz(mask & (mask - 1));
    site.stride = (int64_t(address[b]) - int64_t(address[a])) / (b - a);
  }
  ++n.requests;
  n.lanes += lanes;
  n.bytes += int64_t(lanes) * bytes;
  uintptr_t sorted[32];
  unsigned count = 0;
  bool ascending = true;
  for (unsigned i = 0; i < 32; ++i) {
    if ((mask >> i & 1) == 0) continue;
    ascending = ascending && (count == 0 || sorted[count - 1] <= address[i]);
    sorted[count++] = address[i];
  }
  if (!ascending) std::sort(sorted, sorted + count);
  int64_t distinct = 0;
  for (unsigned i = 0; i < count; ++i) distinct += i == 0 || sorted[i] != sorted[i - 1];
  if (site.atomic) n.collisions += lanes - distinct;
  site.one_address = site.one_address && distinct == 1;
  if (site.space == Space::global) {
    uintptr_t last = 0;
    int64_t sectors = 0;
    for (unsigned i = 0; i < count; ++i) {
      const uintptr_t from = std::max(last, sorted[i] / kSector), to = (sorted[i] + bytes - 1) / kSector;
      if (to < from) continue;
      const uintptr_t first = sorted[i] / kSector == last ? last + 1 : from;
      sectors += int64_t(to + 1 - first);
      last = to;
    }
    n.sectors += sectors;
    n.ideal_sectors += (distinct * bytes + kSector - 1) / kSector;
    n.lane_sectors += (int64_t(lanes) * bytes + kSector - 1) / kSector;
    return;
  }
  // 32 lanes of 4 bytes fill the banks; wider accesses are served by groups of lanes.
  const unsigned words = std::max(1u, (bytes + 3) / 4);
  const unsigned group = words >= 4 ? 8 : words >= 2 ? 16 : 32;
  for (unsigned from = 0; from < 32;) {
    unsigned lanes_served = group;
    // Two neighboring groups of a load are served as one where lanes read the same in pairs.
    if (group < 32 && from % (2 * group) == 0 && !site.write &&
        in_pairs(address, part_of(mask, from, 2 * group)))
      lanes_served = 2 * group;
    const uint32_t part = part_of(mask, from, lanes_served);
    from += lanes_served;
    if (part == 0) continue;
    n.wavefronts += passes(address, part, words);
    n.ideal_wavefronts += 1;
  }
}

void Trace::replay(unsigned warp, uint32_t going_on) {
  settle();
  if (!counting_) return;
  logs_[warp].replay(going_on, executor_->ended(warp), flow_,
                     [this](uint16_t site, uint32_t bytes, uint32_t mask, const uintptr_t* address) {
                       account(site, bytes, mask, address);
                     });
}

void Trace::segment_ended(unsigned warp) { replay(warp, 0); }

void Trace::segment_full(unsigned warp) { replay(warp, executor_->going_on(warp)); }

}  // namespace klab::simt
