#include "harness/simt/profile.h"

#include <cmath>

#include "harness/simt/grid_run.h"
#include "harness/simt/modules.h"

namespace klab::simt {
namespace {
size_t hash_of(const void* pc, Space space) {
  uint64_t x = reinterpret_cast<uintptr_t>(pc) * 4 + uintptr_t(space);
  x *= 0x9E3779B97F4A7C15u;
  return size_t(x >> 40);
}
}  // namespace

void Counts::add(const Counts& o) {
  requests += o.requests;
  lanes += o.lanes;
  bytes += o.bytes;
  sectors += o.sectors;
  ideal_sectors += o.ideal_sectors;
  lane_sectors += o.lane_sectors;
  wavefronts += o.wavefronts;
  ideal_wavefronts += o.ideal_wavefronts;
  collisions += o.collisions;
}

Counts Site::as_merged() const {
  Counts n = counts;
  n.lanes = n.requests;
  n.bytes = n.requests * int64_t(width);
  n.sectors = std::min(n.sectors, n.requests);
  n.lane_sectors = n.ideal_sectors;
  n.collisions = 0;
  return n;
}

void Site::clear_counts() {
  *this = {.pc = pc,
           .space = space,
           .write = write,
           .atomic = atomic,
           .returns = returns,
           .merges = merges,
           .width = width};
}

Profile::Profile() : table_(256) {}

Profile::Profile(GridRun* numbers) : table_(256), numbers_(numbers) {}

void Profile::add(const Site& o) {
  Site& s = sites_[site(o.pc, o.space, o.write, o.atomic, o.merges, o.width)];
  s.one_address = s.one_address && o.one_address;
  if (s.stride == 0) s.stride = o.stride;
  s.is_volatile = s.is_volatile || o.is_volatile;
  s.async = s.async || o.async;
  s.counts.add(o.counts);
  s.compiled_known = s.compiled_known || o.compiled_known;
  s.compiled_widths |= o.compiled_widths;
  s.compiled_atomics |= o.compiled_atomics;
  s.compiled.add(o.compiled);
}

void Profile::scale(const std::vector<Site>& before, double by) {
  const auto scaled = [by](const Counts& was, Counts& now) {
    for (int64_t Counts::*field :
         {&Counts::requests, &Counts::lanes, &Counts::bytes, &Counts::sectors, &Counts::ideal_sectors,
          &Counts::lane_sectors, &Counts::wavefronts, &Counts::ideal_wavefronts, &Counts::collisions})
      now.*field = was.*field + std::llround(double(now.*field - was.*field) * by);
  };
  for (size_t k = 0; k < sites_.size(); ++k) {
    scaled(k < before.size() ? before[k].counts : Counts{}, sites_[k].counts);
    scaled(k < before.size() ? before[k].compiled : Counts{}, sites_[k].compiled);
  }
}

void Profile::grow() {
  std::vector<uint16_t> bigger(table_.size() * 4);
  for (size_t i = 0; i < sites_.size(); ++i) {
    if (sites_[i].pc == nullptr) continue;  // entered by another thread
    size_t at = hash_of(sites_[i].pc, sites_[i].space) & (bigger.size() - 1);
    while (bigger[at] != 0) at = (at + 1) & (bigger.size() - 1);
    bigger[at] = uint16_t(i + 1);
  }
  table_ = std::move(bigger);
}

uint16_t Profile::site(const void* pc, Space space, bool write, bool atomic, bool merges, unsigned width) {
  size_t at = hash_of(pc, space) & (table_.size() - 1);
  for (; table_[at] != 0; at = (at + 1) & (table_.size() - 1)) {
    const Site& s = sites_[table_[at] - 1];
    if (s.pc == pc && s.space == space && s.write == write) return uint16_t(table_[at] - 1);
  }
  if (sites_.size() >= 65000 && numbers_ == nullptr) return uint16_t(sites_.size() - 1);
  const Site fresh{.pc = pc,
                   .space = space,
                   .write = write,
                   .atomic = atomic,
                   .returns = atomic && result_is_used(pc),
                   .merges = merges,
                   .width = width};
  const size_t number = numbers_ != nullptr ? numbers_->number_of_site(fresh) : sites_.size();
  if (sites_.size() <= number) sites_.resize(number + 1);
  if (sites_[number].pc != nullptr) return uint16_t(number);  // all numbers are used
  sites_[number] = fresh;
  table_[at] = uint16_t(number + 1);
  if (++entries_ * 2 > table_.size()) grow();
  return uint16_t(number);
}

}  // namespace klab::simt
