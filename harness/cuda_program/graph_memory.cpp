// Memory nodes of graphs (CUDA Runtime API manual, "Graph Management": memory allocation and free nodes).
#include "harness/cuda_program/graph_memory.h"

#include <algorithm>
#include <map>

#include "harness/cuda_program/stream_state.h"
#include "harness/simt/memory.h"

namespace klab::program {
namespace {

std::map<const void*, GraphMemory*>& graph_memories() {
  static auto& list = *new std::map<const void*, GraphMemory*>;
  return list;
}

struct GraphUsage {
  uint64_t used = 0, reserved = 0;
};
GraphUsage highest_usage;  // since the program began or set them back

GraphUsage graph_usage() {
  GraphUsage now;
  for (const auto& [p, memory] : graph_memories()) {
    now.reserved += memory->bytes();
    if (memory->is_taken()) now.used += memory->bytes();
  }
  highest_usage = {std::max(highest_usage.used, now.used), std::max(highest_usage.reserved, now.reserved)};
  return now;
}

}  // namespace

GraphMemory::GraphMemory(size_t bytes) : address_(allocate_for_graph(bytes)), bytes_(bytes) {
  simt::allocation_at(address_)->given_back = true;
  graph_memories()[address_] = this;
  graph_usage();
}

GraphMemory::~GraphMemory() {
  graph_memories().erase(address_);
  if (is_taken()) return;  // the program still has to free it
  simt::allocation_at(address_)->given_back = false;
  simt::device_free(address_);
}

bool GraphMemory::is_taken() const { return !simt::allocation_at(address_)->given_back; }

void GraphMemory::take() {
  require(!is_taken());
  simt::allocation_at(address_)->given_back = false;
  simt::mark_defined(address_, bytes_, false);
  graph_usage();
}

void GraphMemory::give_back() {
  simt::Allocation* a = simt::allocation_at(address_);
  if (a->given_back) add_host_finding(simt::Kind::use_after_free, a->name + " is freed a second time");
  require(!a->given_back);
  forget_busy(address_);
  a->given_back = true;
}

GraphMemory* graph_memory_at(const void* p) {
  const auto at = graph_memories().find(p);
  return at == graph_memories().end() ? nullptr : at->second;
}

}  // namespace klab::program

using namespace klab::program;

extern "C" {
cudaError_t cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute, void* value) {
  return api([&] {
    require(device == 0, cudaErrorInvalidDevice);
    require(value != nullptr);
    const GraphUsage now = graph_usage();
    uint64_t& to = *static_cast<uint64_t*>(value);
    switch (attribute) {
      case cudaGraphMemAttrUsedMemCurrent:
        to = now.used;
        break;
      case cudaGraphMemAttrUsedMemHigh:
        to = highest_usage.used;
        break;
      case cudaGraphMemAttrReservedMemCurrent:
        to = now.reserved;
        break;
      case cudaGraphMemAttrReservedMemHigh:
        to = highest_usage.reserved;
        break;
      default:
        throw Failed{cudaErrorInvalidValue};
    }
  });
}
cudaError_t cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute, void* value) {
  return api([&] {
    require(device == 0, cudaErrorInvalidDevice);
    require(value != nullptr && *static_cast<uint64_t*>(value) == 0);
    const GraphUsage now = graph_usage();
    if (attribute == cudaGraphMemAttrUsedMemHigh)
      highest_usage.used = now.used;
    else if (attribute == cudaGraphMemAttrReservedMemHigh)
      highest_usage.reserved = now.reserved;
    else
      throw Failed{cudaErrorInvalidValue};
  });
}
cudaError_t cudaDeviceGraphMemTrim(int device) {
  return api([&] { require(device == 0, cudaErrorInvalidDevice); });
}
}
