// Streams, events and graphs, as shared by the parts of the runtime.
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
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;  // topologically sorted
};
struct CUgraphExec_st {
  std::vector<klab::program::Work> work;
  std::vector<const CUgraphNode_st*> nodes;  // nodes that the work came from; their graph may be destroyed
};
struct CUstream_st {
  unsigned flags = 0;
  int priority = 0;
  std::shared_ptr<CUgraph_st> captured;  // graph that captures the stream; nullptr: work runs
  bool captures = false;                 // started the capture, rather than joined it
  bool spoiled = false;
  uint64_t done = 0;  // number of the last work submitted
  // other streams it waits for, up to their work of that number
  std::vector<std::pair<CUstream_st*, uint64_t>> waits;
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
