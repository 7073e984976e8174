// Streams, events and graphs, as the parts of the runtime that make them share them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "harness/cuda_program/state.h"

struct CUgraphNode_st {
  klab::program::Work work;
  std::vector<CUgraphNode_st*> after;
};
struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;  // in an order that obeys what each comes after
};
struct CUgraphExec_st {
  std::vector<klab::program::Work> work;
  std::vector<const CUgraphNode_st*> nodes;  // whose work it is; the graph may be gone
};
struct CUstream_st {
  unsigned flags = 0;
  int priority = 0;
  std::shared_ptr<CUgraph_st> captured;  // into it, nullptr: work is done
  bool captures = false;                 // began it, rather than having joined
  bool spoiled = false;
  uint64_t done = 0;                                     // number of the last work it was given
  std::vector<std::pair<CUstream_st*, uint64_t>> waits;  // for other streams, up to their work of that number
};
struct CUevent_st {
  unsigned flags = 0;
  bool recorded = false;
  std::chrono::steady_clock::time_point at;
  CUstream_st* stream = nullptr;
  uint64_t number = 0;
  std::vector<std::pair<CUstream_st*, uint64_t>> waits;
  std::shared_ptr<CUgraph_st> captured;
};
