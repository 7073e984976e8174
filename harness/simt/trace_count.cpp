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
    return;
  }
  // 32 lanes of 4 bytes fill the banks; wider accesses are served by groups of lanes.
  const unsigned words = std::max(1u, (bytes + 3) / 4);
  const unsigned group = words >= 4 ? 8 : words >= 2 ? 16 : 32;
  for (unsigned from = 0; from < 32; from += group) {
    const uint32_t part = mask & uint32_t(((uint64_t(1) << group) - 1) << from);
    if (part == 0) continue;
    n.wavefronts += passes(address, part, words);
    n.ideal_wavefronts += 1;
  }
}

void Trace::segment_ended(unsigned warp) {
  (void)warp;
  settle();
  if (session_->options().counts) count_columns();
  for (auto& log : logs_) log.clear();
}

void Trace::segment_full(unsigned warp) { segment_ended(warp); }

/// Lanes that ran the same accesses in the same order: the j-th of each belong together.
void Trace::count_columns() {
  uint32_t active = 0;
  size_t length = SIZE_MAX;
  bool equal = true;
  for (unsigned i = 0; i < 32; ++i) {
    if (logs_[i].empty()) continue;
    equal = equal && (length == SIZE_MAX || logs_[i].size() == length);
    length = std::min(length, logs_[i].size());
    active |= 1u << i;
  }
  if (active == 0) return;
  size_t j = 0;
  const auto& lead = logs_[unsigned(__builtin_ctz(active))];
  uintptr_t address[32];
  for (; j < length; ++j) {
    const Entry& first = lead[j];
    bool same = true;
    for (uint32_t rest = active; rest != 0; rest &= rest - 1) {
      const auto i = unsigned(__builtin_ctz(rest));
      const Entry& e = logs_[i][j];
      same = same && e.site == first.site && e.bytes == first.bytes;
      address[i] = e.address;
    }
    if (!same) break;
    account(first.site, first.bytes, active, address);
  }
  if (!equal || j < length) count_scattered(j);
}

/// Lanes that went different ways: the k-th execution of a site by each lane belongs together.
void Trace::count_scattered(size_t from) {
  requests_.clear();
  std::vector<uint16_t> used;
  if (open_.size() < profile_->sites().size()) open_.resize(profile_->sites().size());
  std::vector<uint32_t> turn(profile_->sites().size(), 0);
  for (unsigned i = 0; i < 32; ++i) {
    if (logs_[i].size() <= from) continue;
    for (const uint16_t s : used) turn[s] = 0;
    for (size_t j = from; j < logs_[i].size(); ++j) {
      const Entry& e = logs_[i][j];
      auto& of_site = open_[e.site];
      if (of_site.empty()) used.push_back(e.site);
      const uint32_t k = turn[e.site]++;
      if (k == of_site.size()) {
        of_site.push_back(uint32_t(requests_.size()));
        requests_.push_back({.site = e.site, .bytes = e.bytes, .mask = 0, .address = {}});
      }
      Request& r = requests_[of_site[k]];
      r.mask |= 1u << i;
      r.address[i] = e.address;
    }
  }
  for (const Request& r : requests_) account(r.site, r.bytes, r.mask, r.address);
  for (const uint16_t s : used) open_[s].clear();
}

}  // namespace klab::simt
