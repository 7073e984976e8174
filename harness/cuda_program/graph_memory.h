// Memory that a graph allocates and frees: its address is fixed when the node is made, and it holds data from one launch's
// allocation to the next free.
#pragma once

#include <cstddef>
#include <memory>

#include "harness/cuda_program/state.h"

namespace klab::program {

/// The memory of one allocation node. Nodes and instantiated graphs share it.
class GraphMemory {
 public:
  explicit GraphMemory(size_t bytes);
  ~GraphMemory();
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;
  void* address() const { return address_; }
  size_t bytes() const { return bytes_; }
  bool is_taken() const;
  /// Begins to hold data, which is undefined.
  void take();
  void give_back();

 private:
  void* address_;
  size_t bytes_;
};

/// Returns the memory of a graph at that address, or nullptr.
GraphMemory* graph_memory_at(const void* p);

/// Allocates device memory that is named after the call. Throws Failed.
void* allocate_for_graph(size_t bytes);
/// Frees memory that cudaMalloc or a graph allocated, with CUDA's checks.
void release_device(void* p);

/// Records an allocation in the graph that captures the stream. Returns nullptr if none does.
void* capture_allocation(cudaStream_t stream, size_t bytes);

}  // namespace klab::program
