// Large memory of freed tensors, kept for the next ones: the system clears each page that it maps, and a check maps large tensors often.
#pragma once

#include <cstddef>

namespace klab {

/// While one lives, freed regions of large tensors are kept, up to a limit, and new tensors get them with what they hold. Timings do
/// without: their tensors have pages of their own.
class KeptMappings {
 public:
  KeptMappings();
  ~KeptMappings();
  KeptMappings(const KeptMappings&) = delete;
  KeptMappings& operator=(const KeptMappings&) = delete;
};

struct Mapping {
  void* begin = nullptr;
  size_t bytes = 0;
};

/// Returns a kept region of at least that size and at most half as much again, which is kept no longer; an empty one if there is none.
Mapping take_kept(size_t bytes);

/// Keeps the region, or unmaps it where none is kept.
void keep_or_unmap(Mapping mapping);

}  // namespace klab
