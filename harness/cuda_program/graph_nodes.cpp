// Nodes of graphs by one function for all kinds, and conditional nodes: what they run is decided by values that kernels set.
#include "klab_cuda/graph_nodes.h"

#include <map>
#include <mutex>
#include <string>

#include "harness/cuda_program/stream_state.h"
#include "harness/simt/executor.h"
#include "harness/simt/modules.h"

namespace klab::program {
namespace {

std::mutex conditions_mutex;
std::map<cudaGraphConditionalHandle, std::weak_ptr<GraphCondition>>& conditions() {
  static auto& list = *new std::map<cudaGraphConditionalHandle, std::weak_ptr<GraphCondition>>;
  return list;
}
std::shared_ptr<GraphCondition> condition_of(cudaGraphConditionalHandle handle) {
  const std::lock_guard lock(conditions_mutex);
  const auto at = conditions().find(handle);
  return at == conditions().end() ? nullptr : at->second.lock();
}

void run_condition(const GraphCondition& condition, cudaGraphConditionalNodeType type,
                   const std::vector<std::shared_ptr<CUgraph_st>>& bodies) {
  switch (type) {
    case cudaGraphCondTypeIf:
      if (condition.value != 0)
        run_graph(*bodies[0]);
      else if (bodies.size() > 1)
        run_graph(*bodies[1]);
      break;
    case cudaGraphCondTypeWhile:
      while (condition.value != 0) run_graph(*bodies[0]);
      break;
    case cudaGraphCondTypeSwitch:
      if (condition.value < bodies.size()) run_graph(*bodies[condition.value]);
      break;
  }
}

cudaError_t add_conditional(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                            size_t count, cudaConditionalNodeParams& p) {
  return api([&] {
    const std::shared_ptr<GraphCondition> condition = condition_of(p.handle);
    require(condition != nullptr && !condition->has_node && p.size > 0);
    require(p.type == cudaGraphCondTypeSwitch || p.size == 1 ||
            (p.type == cudaGraphCondTypeIf && p.size == 2));
    std::vector<std::shared_ptr<CUgraph_st>> bodies;
    for (unsigned k = 0; k < p.size; ++k) bodies.push_back(std::make_shared<CUgraph_st>());
    CUgraphNode_st& made = add_graph_node(node, graph, after, count, [condition, type = p.type, bodies] {
      run_condition(*condition, type, bodies);
    });
    for (const auto& body : bodies) made.bodies.push_back(body.get());
    condition->has_node = true;
    p.phGraph_out = made.bodies.data();
  });
}

}  // namespace

void begin_conditions(const std::vector<std::shared_ptr<GraphCondition>>& of_graph) {
  for (const auto& c : of_graph)
    if (c->is_set_at_launch) c->value = c->at_launch;
}

}  // namespace klab::program

using namespace klab::program;

extern "C" {
cudaError_t klab_cuda_condition(cudaGraphConditionalHandle* handle, cudaGraph_t graph, unsigned at_launch,
                                unsigned flags) {
  return api([&] {
    require(handle != nullptr && graph != nullptr && flags <= cudaGraphCondAssignDefault);
    const auto made = std::make_shared<GraphCondition>();
    made->value = made->at_launch = at_launch;
    made->is_set_at_launch = flags == cudaGraphCondAssignDefault;
    graph->conditions.push_back(made);
    static cudaGraphConditionalHandle last = 0;
    const std::lock_guard lock(conditions_mutex);
    conditions()[*handle = ++last] = made;
  });
}
void cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned value) {
  klab::simt::Executor* const e = klab::simt::running;
  if (e == nullptr || e->lane == nullptr) return;
  e->in_turn();
  if (const auto condition = condition_of(handle); condition != nullptr) {
    condition->value = value;
    return;
  }
  const klab::simt::SourceLine at = klab::simt::source_of(__builtin_return_address(0));
  e->abandon({.kind = klab::simt::Kind::trap,
              .file = at.file,
              .line = at.line,
              .text = "cudaGraphSetConditional is given " + std::to_string(handle) +
                      ", which is no handle of a graph that exists"});
}
cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                             size_t count, cudaGraphNodeParams* p) {
  if (p == nullptr) return api([] { require(false); });
  switch (p->type) {
    case cudaGraphNodeTypeKernel:
      return cudaGraphAddKernelNode(node, graph, after, count, &p->kernel);
    case cudaGraphNodeTypeMemcpy:
      return cudaGraphAddMemcpyNode(node, graph, after, count, &p->memcpy.copyParams);
    case cudaGraphNodeTypeMemset:
      return cudaGraphAddMemsetNode(node, graph, after, count, &p->memset);
    case cudaGraphNodeTypeHost:
      return cudaGraphAddHostNode(node, graph, after, count, &p->host);
    case cudaGraphNodeTypeGraph:
      return cudaGraphAddChildGraphNode(node, graph, after, count, p->graph.graph);
    case cudaGraphNodeTypeWaitEvent:  // work runs in the order in which it is submitted
    case cudaGraphNodeTypeEmpty:
      return cudaGraphAddEmptyNode(node, graph, after, count);
    case cudaGraphNodeTypeMemAlloc:
      return cudaGraphAddMemAllocNode(node, graph, after, count, &p->alloc);
    case cudaGraphNodeTypeMemFree:
      return cudaGraphAddMemFreeNode(node, graph, after, count, p->free.dptr);
    case cudaGraphNodeTypeConditional:
      return add_conditional(node, graph, after, count, p->conditional);
    default:
      return api([] { require(false, cudaErrorNotSupported); });
  }
}
}
