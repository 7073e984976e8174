#include "harness/core/kept_mappings.h"

#include <sys/mman.h>

#include <algorithm>
#include <deque>
#include <mutex>

namespace klab {
namespace {

constexpr size_t kMostKept = size_t{256} << 20;  // bytes

struct KeptRegions {
  std::mutex mutex;
  int keepers = 0;
  size_t bytes = 0;
  std::deque<Mapping> list;  // the oldest first
};

// Never destroyed: a tensor that a variant's thread still writes to may be freed at the end of the process.
KeptRegions& kept_regions() {
  static KeptRegions* const all = new KeptRegions;
  return *all;
}

/// Unmaps the oldest until no more than `most` bytes are kept. The caller holds the mutex.
void shrink_kept(KeptRegions& all, size_t most) {
  while (all.bytes > most) {
    const Mapping oldest = all.list.front();
    all.list.pop_front();
    all.bytes -= oldest.bytes;
    munmap(oldest.begin, oldest.bytes);
  }
}

}  // namespace

KeptMappings::KeptMappings() {
  KeptRegions& all = kept_regions();
  const std::lock_guard lock(all.mutex);
  ++all.keepers;
}

KeptMappings::~KeptMappings() {
  KeptRegions& all = kept_regions();
  const std::lock_guard lock(all.mutex);
  if (--all.keepers == 0) shrink_kept(all, 0);
}

Mapping take_kept(size_t bytes) {
  KeptRegions& all = kept_regions();
  const std::lock_guard lock(all.mutex);
  // The newest that fits: its pages may still be in a cache.
  const auto found = std::find_if(all.list.rbegin(), all.list.rend(), [bytes](const Mapping& m) {
    return m.bytes >= bytes && m.bytes <= bytes + bytes / 2;
  });
  if (found == all.list.rend()) return {};
  const Mapping mapping = *found;
  all.bytes -= mapping.bytes;
  all.list.erase(std::next(found).base());
  return mapping;
}

void keep_or_unmap(Mapping mapping) {
  KeptRegions& all = kept_regions();
  const std::lock_guard lock(all.mutex);
  if (all.keepers == 0 || mapping.bytes > kMostKept) {
    munmap(mapping.begin, mapping.bytes);
    return;
  }
  all.list.push_back(mapping);
  all.bytes += mapping.bytes;
  shrink_kept(all, kMostKept);
}

}  // namespace klab
