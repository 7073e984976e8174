// Graphs: recorded work that is ordered once and run on each launch.
#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "harness/cuda_program/graph_memory.h"
#include "harness/cuda_program/stream_state.h"
#include "harness/simt/background.h"

using namespace klab::program;

namespace {
/// Sorts the nodes so that each follows its dependencies. Unordered nodes keep the order they were added in.
std::vector<const CUgraphNode_st*> in_order(const CUgraph_st& graph) {
  std::vector<const CUgraphNode_st*> list;
  std::set<const CUgraphNode_st*> placed;
  while (placed.size() < graph.nodes.size()) {
    const size_t before = placed.size();
    for (const auto& node : graph.nodes) {
      if (placed.count(node.get()) == 1) continue;
      if (!std::ranges::all_of(node->after, [&](const auto* a) { return placed.count(a) == 1; })) continue;
      list.push_back(node.get());
      placed.insert(node.get());
    }
    require(placed.size() > before);  // else there is a cycle
  }
  return list;
}

std::vector<std::shared_ptr<GraphMemory>> memory_of(const std::vector<const CUgraphNode_st*>& nodes) {
  std::vector<std::shared_ptr<GraphMemory>> list;
  for (const auto* node : nodes)
    if (node->memory != nullptr) list.push_back(node->memory);
  return list;
}
/// Returns whether the graph has nodes that cannot be cloned: they own memory, or graphs.
bool has_owners(const CUgraph_st& graph) {
  return std::ranges::any_of(graph.nodes, [](const auto& n) {
    return n->memory != nullptr || n->freed != nullptr || !n->bodies.empty();
  });
}
}  // namespace

namespace klab::program {
namespace {
void run_node(const Work& work) {
  simt::wait_for_background();
  work();
}
}  // namespace

void run_graph(const CUgraph_st& graph) {
  begin_conditions(graph.conditions);
  for (const auto* node : in_order(graph)) run_node(node->work);
}
CUgraphNode_st& add_graph_node(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                               size_t count, Work work) {
  require(node != nullptr && graph != nullptr && (after != nullptr || count == 0));
  auto made = std::make_unique<CUgraphNode_st>();
  made->work = std::move(work);
  if (count > 0) made->after.assign(after, after + count);
  *node = made.get();
  graph->nodes.push_back(std::move(made));
  return **node;
}
}  // namespace klab::program

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
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                          unsigned long long flags) {
  return api([&] {
    require(exec != nullptr && graph != nullptr);
    auto made = std::make_unique<CUgraphExec_st>();
    made->nodes = in_order(*graph);
    for (const auto* node : made->nodes) made->work.push_back(node->work);
    made->memory = memory_of(made->nodes);
    made->conditions = graph->conditions;
    made->frees_on_launch = (flags & cudaGraphInstantiateFlagAutoFreeOnLaunch) != 0;
    *exec = made.release();
  });
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  return api([&] {
    require(exec != nullptr);
    // A launch cannot allocate what an earlier one has not freed.
    if (!exec->frees_on_launch)
      require(std::ranges::none_of(exec->memory, [](const auto& m) { return m->is_taken(); }));
    enqueue(stream, [work = exec->work, memory = exec->memory, conditions = exec->conditions] {
      begin_conditions(conditions);
      for (const auto& m : memory)
        if (m->is_taken()) m->give_back();
      for (const Work& w : work) run_node(w);
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
    require(!has_owners(*graph), cudaErrorNotSupported);
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
Work work_of(const cudaKernelNodeParams& p) {
  return work_of_launch(p.func, p.gridDim, p.blockDim, p.kernelParams, p.sharedMemBytes, false);
}
Work work_of(const cudaMemcpy3DParms& p) {
  return [q = p] { copy_3d(q); };
}
Work work_of_copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return [=] { copy(to, from, bytes, kind); };
}
Work work_of(const cudaMemsetParams& p) {
  require(p.elementSize == 1 || p.elementSize == 2 || p.elementSize == 4);
  return [q = p] {
    for (size_t y = 0; y < std::max<size_t>(q.height, 1); ++y) {
      char* row = static_cast<char*>(q.dst) + y * q.pitch;
      fill(row, int(q.value & 0xFF), q.width * q.elementSize);
      for (size_t k = 0; k < q.width * q.elementSize; ++k) row[k] = char(q.value >> 8 * (k % q.elementSize));
    }
  };
}
Work work_of(const cudaHostNodeParams& p) {
  return [q = p] {
    synchronized(nullptr, true);
    q.fn(q.userData);
  };
}
template <class P>
cudaError_t add_work(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                     const P* p) {
  return api([&] {
    require(p != nullptr);
    add_graph_node(node, graph, after, count, work_of(*p));
  });
}
cudaError_t set_work(cudaGraphNode_t node, const std::function<Work()>& work) {
  return api([&] {
    require(node != nullptr);
    node->work = work();
  });
}
cudaError_t set_work(cudaGraphExec_t exec, cudaGraphNode_t node, const std::function<Work()>& work) {
  return api([&] {
    require(exec != nullptr);
    const auto at = std::ranges::find(exec->nodes, node);
    require(at != exec->nodes.end());
    exec->work[size_t(at - exec->nodes.begin())] = work();
  });
}
template <class P>
std::function<Work()> checked(const P* p) {
  return [p] {
    require(p != nullptr);
    return work_of(*p);
  };
}
}  // namespace

extern "C" {
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                   size_t count, const cudaKernelNodeParams* p) {
  return add_work(node, graph, after, count, p);
}
cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                   size_t count, const cudaMemcpy3DParms* p) {
  return add_work(node, graph, after, count, p);
}
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                     size_t count, void* to, const void* from, size_t bytes,
                                     cudaMemcpyKind kind) {
  return api([&] { add_graph_node(node, graph, after, count, work_of_copy(to, from, bytes, kind)); });
}
cudaError_t klab_cuda_graph_symbol(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                   size_t count, void* symbol, size_t symbol_bytes, void* other, size_t bytes,
                                   size_t offset, cudaMemcpyKind kind, int from_symbol) {
  return api([&] {
    add_graph_node(node, graph, after, count,
                   work_of_symbol(symbol, symbol_bytes, other, bytes, offset, kind, from_symbol != 0));
  });
}
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                   size_t count, const cudaMemsetParams* p) {
  return add_work(node, graph, after, count, p);
}
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                 size_t count, const cudaHostNodeParams* p) {
  return add_work(node, graph, after, count, p);
}
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                  size_t count) {
  return api([&] { add_graph_node(node, graph, after, count, [] {}); });
}
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                       size_t count, cudaGraph_t child) {
  return api([&] {
    require(child != nullptr && child != graph);
    require(!has_owners(*child), cudaErrorNotSupported);
    std::vector<Work> all;
    for (const auto* each : in_order(*child)) all.push_back(each->work);
    add_graph_node(node, graph, after, count, [all] {
      for (const Work& w : all) run_node(w);
    });
  });
}
cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                     size_t count, cudaMemAllocNodeParams* p) {
  return api([&] {
    require(p != nullptr && p->poolProps.allocType == cudaMemAllocationTypePinned &&
            p->poolProps.location.type == cudaMemLocationTypeDevice && p->poolProps.location.id == 0);
    const auto memory = std::make_shared<GraphMemory>(p->bytesize);
    add_graph_node(node, graph, after, count, [memory] { memory->take(); }).memory = memory;
    p->dptr = memory->address();
  });
}
cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                    size_t count, void* p) {
  return api([&] {
    require(graph_memory_at(p) != nullptr);
    add_graph_node(node, graph, after, count, [p] { release_device(p); }).freed = p;
  });
}
cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, cudaMemAllocNodeParams* p) {
  return api([&] {
    require(node != nullptr && p != nullptr && node->memory != nullptr);
    *p = {};
    p->poolProps.allocType = cudaMemAllocationTypePinned;
    p->poolProps.location = {cudaMemLocationTypeDevice, 0};
    p->bytesize = node->memory->bytes();
    p->dptr = node->memory->address();
  });
}
cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void* p) {
  return api([&] {
    require(node != nullptr && p != nullptr && node->freed != nullptr);
    *static_cast<void**>(p) = node->freed;
  });
}
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, size_t count) {
  return api([&] {
    require(graph != nullptr);
    for (size_t k = 0; k < count; ++k) to[k]->after.push_back(from[k]);
  });
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* p) {
  return set_work(node, checked(p));
}
cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams* p) {
  return set_work(node, checked(p));
}
cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams* p) {
  return set_work(node, checked(p));
}
cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms* p) {
  return set_work(node, checked(p));
}
cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* to, const void* from, size_t bytes,
                                           cudaMemcpyKind kind) {
  return set_work(node, [=] { return work_of_copy(to, from, bytes, kind); });
}
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* p) {
  return set_work(exec, node, checked(p));
}
cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaMemsetParams* p) {
  return set_work(exec, node, checked(p));
}
cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                           const cudaHostNodeParams* p) {
  return set_work(exec, node, checked(p));
}
cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaMemcpy3DParms* p) {
  return set_work(exec, node, checked(p));
}
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void* to,
                                               const void* from, size_t bytes, cudaMemcpyKind kind) {
  return set_work(exec, node, [=] { return work_of_copy(to, from, bytes, kind); });
}
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* info) {
  return api([&] {
    require(exec != nullptr && graph != nullptr);
    const auto nodes = in_order(*graph);
    const bool same = nodes.size() == exec->work.size();
    if (info != nullptr)
      *info = {same ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorTopologyChanged, nullptr, nullptr};
    require(same, cudaErrorGraphExecUpdateFailure);
    for (size_t k = 0; k < nodes.size(); ++k) exec->work[k] = nodes[k]->work;
    exec->memory = memory_of(nodes);
  });
}
}

namespace klab::program {
void* capture_allocation(cudaStream_t stream, size_t bytes) {
  if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread ||
      stream->captured == nullptr)
    return nullptr;
  const auto memory = std::make_shared<GraphMemory>(bytes);
  enqueue(stream, [memory] { memory->take(); });
  stream->captured->nodes.back()->memory = memory;
  return memory->address();
}
}  // namespace klab::program
