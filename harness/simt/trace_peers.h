// Accesses to the shared memory of other blocks of a cluster, and uses of it beyond the end of its block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/simt/trace_check.h"

namespace klab::simt {

class TracePeers : public TraceCheck {
 public:
  /// Each block of a cluster has a trace, and looks into those of the others. nullptr: the cluster has ended.
  void joins_cluster(Cluster* cluster, unsigned rank);
  /// Records that the running thread uses shared memory of the block of that rank, and is not behind its end.
  void uses_peer(unsigned rank, const void* pc, const char* file, int line);
  /// The block is about to end: reports uses of its shared memory by others that are not ordered before that.
  void check_uses_by_peers();

 protected:
  void block_begins();
  /// Handles an access to shared memory of another block of the cluster.
  void access_peer(const void* p, size_t bytes, uint8_t how, const void* pc);

 private:
  struct Use {
    uint32_t interval = 0;  // 0: none
    uint16_t sync = 0;
    const void* pc = nullptr;  // or file and line
    const char* file = "";
    int line = 0;
  };
  std::vector<std::vector<Use>> uses_;  // of shared memory of a block, by rank and thread: the last ones
};

}  // namespace klab::simt
