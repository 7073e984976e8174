// Streams, events and graphs, as shared by the parts of the runtime.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "harness/cuda_program/state.h"

namespace klab::program {

/// Work that comes before something: of each stream, by its id, all up to a number.
class StreamClock {
 public:
  void add(uint64_t stream, uint64_t number);
  void add(const StreamClock& other);
  bool covers(uint64_t stream, uint64_t number) const;

 private:
  std::vector<std::pair<uint64_t, uint64_t>> list_;
};

/// Records that the host has waited for that work.
void host_waited_for(const StreamClock& work);
void host_waited_for_all();
/// Runs work of a stream. `others`: the streams that the legacy stream waits for, or the legacy stream. `meanwhile`: it may be done
/// while a kernel of another stream runs.
void run_in(CUstream_st& stream, const std::vector<CUstream_st*>& others, const Work& work, bool meanwhile);
/// Checks a copy between a variable on the device and other memory, and returns its work.
Work work_of_symbol(void* symbol, size_t symbol_bytes, void* other, size_t bytes, size_t offset,
                    cudaMemcpyKind kind, bool from_symbol);

}  // namespace klab::program

namespace klab::program {
class GraphMemory;

/// The value that decides what a conditional node runs.
struct GraphCondition {
  unsigned value = 0, at_launch = 0;
  bool is_set_at_launch = false, has_node = false;
};
/// Adds a node to a graph.
CUgraphNode_st& add_graph_node(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                               size_t count, Work work);
/// Runs the nodes of a graph, each behind those that it depends on.
void run_graph(const CUgraph_st& graph);
/// Gives the conditions the values that they have when their graph is launched.
void begin_conditions(const std::vector<std::shared_ptr<GraphCondition>>& conditions);
}  // namespace klab::program

struct CUgraphNode_st {
  klab::program::Work work;
  std::vector<CUgraphNode_st*> after;
  std::shared_ptr<klab::program::GraphMemory> memory;  // of an allocation node
  void* freed = nullptr;                               // by a free node
  std::vector<cudaGraph_t> bodies;                     // of a conditional node, whose work owns them
};
struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;                      // topologically sorted
  std::vector<std::shared_ptr<klab::program::GraphCondition>> conditions;  // of its conditional nodes
};
struct CUgraphExec_st {
  std::vector<klab::program::Work> work;
  std::vector<const CUgraphNode_st*> nodes;  // nodes that the work came from; their graph may be destroyed
  std::vector<std::shared_ptr<klab::program::GraphMemory>> memory;
  std::vector<std::shared_ptr<klab::program::GraphCondition>> conditions;
  bool frees_on_launch = false;  // what an earlier launch allocated and nothing has freed
};
struct CUstream_st {
  CUstream_st() {
    static uint64_t last = 0;
    id = ++last;
  }
  uint64_t id;
  klab::program::StreamClock before;  // what its next work comes behind, in other streams
  unsigned flags = 0;
  int priority = 0;
  std::shared_ptr<CUgraph_st> captured;  // graph that captures the stream; nullptr: work runs
  bool captures = false;                 // started the capture, rather than joined it
  bool captures_into = false;            // a graph that the program has
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
  klab::program::StreamClock before;
  std::vector<std::pair<CUstream_st*, uint64_t>> waits;
  std::shared_ptr<CUgraph_st> captured;
};
