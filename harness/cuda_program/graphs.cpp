// Graphs: work that is kept, put in order, and done as often as it is asked for.
#include <algorithm>
#include <map>
#include <set>

#include "harness/cuda_program/stream_state.h"

using namespace klab::program;

extern "C" {
cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned) {
  return api([&] { *graph = new CUgraph_st; });
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return api([&] {
    require(graph != nullptr);
    delete graph;
  });
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return api([&] {
    require(graph != nullptr && count != nullptr);
    if (nodes != nullptr)
      for (size_t k = 0; k < std::min(*count, graph->nodes.size()); ++k) nodes[k] = graph->nodes[k].get();
    *count = graph->nodes.size();
  });
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  return api([&] {
    require(exec != nullptr && graph != nullptr);
    auto made = std::make_unique<CUgraphExec_st>();
    // What comes after others follows them; nodes that nothing orders keep the order they were added in.
    std::set<const CUgraphNode_st*> placed;
    while (placed.size() < graph->nodes.size()) {
      const size_t before = placed.size();
      for (const auto& node : graph->nodes) {
        if (placed.count(node.get()) == 1) continue;
        if (!std::ranges::all_of(node->after, [&](const auto* a) { return placed.count(a) == 1; })) continue;
        made->work.push_back(node->work);
        placed.insert(node.get());
      }
      require(placed.size() > before);  // a circle
    }
    *exec = made.release();
  });
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  return api([&] {
    require(exec != nullptr);
    enqueue(stream, [work = exec->work] {
      for (const Work& w : work) w();
    });
  });
}
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t stream) {
  return api([&] { require_stream(stream); });
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  return api([&] {
    require(exec != nullptr);
    delete exec;
  });
}
cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph) {
  return api([&] {
    require(clone != nullptr && graph != nullptr);
    auto made = std::make_unique<CUgraph_st>();
    std::map<const CUgraphNode_st*, CUgraphNode_st*> same;
    for (const auto& node : graph->nodes) {
      made->nodes.push_back(std::make_unique<CUgraphNode_st>(*node));
      same[node.get()] = made->nodes.back().get();
    }
    for (const auto& node : made->nodes)
      for (CUgraphNode_st*& a : node->after) a = same[a];
    *clone = made.release();
  });
}
}

namespace {
void add_node(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
              Work work) {
  require(node != nullptr && graph != nullptr && (after != nullptr || count == 0));
  auto made = std::make_unique<CUgraphNode_st>();
  made->work = std::move(work);
  if (count > 0) made->after.assign(after, after + count);
  *node = made.get();
  graph->nodes.push_back(std::move(made));
}
}  // namespace

extern "C" {
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                   size_t count, const cudaKernelNodeParams* p) {
  return api([&] {
    add_node(node, graph, after, count,
             work_of_launch(p->func, p->gridDim, p->blockDim, p->kernelParams, p->sharedMemBytes, false));
  });
}
cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                   size_t count, const cudaMemcpy3DParms* p) {
  return api([&] { add_node(node, graph, after, count, [q = *p] { copy_3d(q); }); });
}
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                     size_t count, void* to, const void* from, size_t bytes,
                                     cudaMemcpyKind kind) {
  return api([&] { add_node(node, graph, after, count, [=] { copy(to, from, bytes, kind); }); });
}
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                   size_t count, const cudaMemsetParams* p) {
  return api([&] {
    require(p->elementSize == 1 || p->elementSize == 2 || p->elementSize == 4);
    add_node(node, graph, after, count, [q = *p] {
      for (size_t y = 0; y < std::max<size_t>(q.height, 1); ++y) {
        char* row = static_cast<char*>(q.dst) + y * q.pitch;
        fill(row, int(q.value & 0xFF), q.width * q.elementSize);
        for (size_t k = 0; k < q.width * q.elementSize; ++k)
          row[k] = char(q.value >> 8 * (k % q.elementSize));
      }
    });
  });
}
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                 size_t count, const cudaHostNodeParams* p) {
  return api([&] {
    add_node(node, graph, after, count, [q = *p] {
      synchronized(nullptr, true);
      q.fn(q.userData);
    });
  });
}
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                  size_t count) {
  return api([&] { add_node(node, graph, after, count, [] {}); });
}
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, size_t count) {
  return api([&] {
    require(graph != nullptr);
    for (size_t k = 0; k < count; ++k) to[k]->after.push_back(from[k]);
  });
}
}
