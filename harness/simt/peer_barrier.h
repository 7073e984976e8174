// A barrier (mbarrier) in shared memory of another block of the cluster, as a running thread uses it.
#pragma once

#include "harness/simt/async_block.h"

namespace klab::simt {

struct PeerBarrier {
  Mbarrier* barrier = nullptr;  // nullptr: the address is not in another block's shared memory
  AsyncBlock* block = nullptr;
  unsigned rank = 0;
  bool gone = false;  // its block has ended, and the launch goes on without what was to be done there
};
/// Finds it; ends the launch if there is none, or, but in programs that go on behind errors, if its block has ended. Records that the
/// running thread uses it.
PeerBarrier peer_barrier(void* p, const char* what, const char* file, int line);

}  // namespace klab::simt
