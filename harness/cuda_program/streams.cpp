// Streams, events and graphs. Work is done when it is asked for; what is kept is what a program must wait for, and what is
// captured into graphs.
#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "harness/cuda_program/state.h"
#include "harness/simt/memory.h"

struct CUgraphNode_st {
  klab::program::Work work;
  std::vector<CUgraphNode_st*> after;
};
struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;  // in an order that obeys what each comes after
};
struct CUgraphExec_st {
  std::vector<klab::program::Work> work;
};
struct CUstream_st {
  unsigned flags = 0;
  int priority = 0;
  std::shared_ptr<CUgraph_st> captured;  // into it, nullptr: work is done
  bool captures = false;                 // began it, rather than having joined
  bool spoiled = false;
  uint64_t done = 0;                                    // number of the last work it was given
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

namespace klab::program {
namespace {

CUstream_st& legacy() {
  static CUstream_st one;
  return one;
}
std::set<CUstream_st*>& streams() {
  static std::set<CUstream_st*> list;
  return list;
}
std::set<CUevent_st*>& events() {
  static std::set<CUevent_st*> list;
  return list;
}

CUstream_st& stream_of(cudaStream_t s) {
  if (s == nullptr || s == cudaStreamLegacy || s == cudaStreamPerThread) return legacy();
  require(streams().count(s) == 1, cudaErrorInvalidResourceHandle);
  return *s;
}
CUevent_st& event_of(cudaEvent_t e) {
  require(events().count(e) == 1, cudaErrorInvalidResourceHandle);
  return *e;
}

struct Busy {
  const simt::Allocation* what;
  CUstream_st* stream;
  uint64_t number;
  std::string why;
};
std::vector<Busy>& busy_list() {
  static std::vector<Busy> list;
  return list;
}

/// The stream's work up to that number is over, and so is what it waited for.
void over(CUstream_st* s, uint64_t number, const std::vector<std::pair<CUstream_st*, uint64_t>>& waits) {
  std::erase_if(busy_list(), [&](const Busy& b) {
    if (b.stream == s && b.number <= number) return true;
    return std::ranges::any_of(waits, [&](const auto& w) { return b.stream == w.first && b.number <= w.second; });
  });
}

void run_graph(const std::vector<Work>& work) {
  for (const Work& w : work) w();
}

}  // namespace

void require_stream(cudaStream_t s) { stream_of(s); }

void require_no_capture() {
  bool any = false;
  for (CUstream_st* s : streams())
    if (s->captured != nullptr) any = s->spoiled = true;
  require(!any, cudaErrorStreamCaptureUnsupported);
}

void enqueue(cudaStream_t stream, Work work) {
  CUstream_st& s = stream_of(stream);
  if (&s == &legacy() && std::ranges::any_of(streams(), [](const CUstream_st* o) {
        return o->captured != nullptr && (o->flags & cudaStreamNonBlocking) == 0;
      }))
    throw Failed{cudaErrorStreamCaptureImplicit};
  if (s.captured != nullptr) {
    auto node = std::make_unique<CUgraphNode_st>();
    node->work = std::move(work);
    if (!s.captured->nodes.empty()) node->after.push_back(s.captured->nodes.back().get());
    s.captured->nodes.push_back(std::move(node));
    return;
  }
  s.done = ++state().work_number;
  work();
}

void synchronized(cudaStream_t stream, bool all) {
  if (all) {
    busy_list().clear();
    return;
  }
  CUstream_st& s = stream_of(stream);
  over(&s, ~uint64_t(0), s.waits);
  // The legacy stream waits for all that are not told to keep out of its way.
  if (&s == &legacy())
    for (CUstream_st* o : streams())
      if ((o->flags & cudaStreamNonBlocking) == 0) over(o, ~uint64_t(0), o->waits);
}

void busy(const void* p, cudaStream_t stream, const std::string& why) {
  const simt::Allocation* a = simt::allocation_at(p);
  CUstream_st& s = stream_of(stream);
  if (a == nullptr || a->home == simt::Home::device || s.captured != nullptr) return;
  busy_list().push_back({a, &s, s.done, why});
}

void busy_parameters(const void* parameters, size_t bytes, cudaStream_t stream, const std::string& kernel) {
  for (size_t k = 0; k + sizeof(void*) <= bytes; k += sizeof(void*)) {
    const void* p = *reinterpret_cast<const void* const*>(static_cast<const char*>(parameters) + k);
    if (simt::is_device(p)) busy(p, stream, "kernel " + kernel + " was launched with it");
  }
}

void forget_busy(const void* p) {
  const simt::Allocation* a = simt::allocation_at(p);
  std::erase_if(busy_list(), [&](const Busy& b) { return b.what == a; });
}

std::string busy_reason(const void* p) {
  const simt::Allocation* a = simt::allocation_at(p);
  const auto found = std::ranges::find(busy_list(), a, &Busy::what);
  if (found == busy_list().end()) return "";
  std::string why = found->why;
  std::erase_if(busy_list(), [&](const Busy& b) { return b.what == a; });  // told once
  return why;
}

}  // namespace klab::program

using namespace klab::program;

extern "C" {
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return api([&] {
    require(stream != nullptr && flags <= 1);
    *stream = new CUstream_st;
    (*stream)->flags = flags;
    (*stream)->priority = std::clamp(priority, -5, 0);
    streams().insert(*stream);
  });
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return api([&] { *priority = stream_of(stream).priority; });
}
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  return api([&] { *flags = stream_of(stream).flags; });
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return api([&] {
    require(streams().erase(stream) == 1, cudaErrorInvalidResourceHandle);
    // What it was given goes on: who reads it must still wait for the device.
    for (CUstream_st* s : streams()) std::erase_if(s->waits, [&](const auto& w) { return w.first == stream; });
    for (Busy& b : busy_list())
      if (b.stream == stream) b.stream = &legacy(), b.number = ++state().work_number;
    delete stream;
  });
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return api([&] {
    CUstream_st& s = stream_of(stream);
    if (s.captured != nullptr) {
      s.spoiled = true;
      throw Failed{cudaErrorStreamCaptureUnsupported};
    }
    synchronized(stream, false);
  });
}
cudaError_t cudaStreamQuery(cudaStream_t stream) { return cudaStreamSynchronize(stream); }
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return api([&] {
    CUstream_st& s = stream_of(stream);
    CUevent_st& e = event_of(event);
    if (e.captured != nullptr) {
      require(s.captured == nullptr || s.captured == e.captured, cudaErrorStreamCaptureMerge);
      s.captured = e.captured;
      return;
    }
    if (!e.recorded) return;
    s.waits.emplace_back(e.stream, e.number);
    s.waits.insert(s.waits.end(), e.waits.begin(), e.waits.end());
  });
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t call, void* data, unsigned) {
  return api([&] {
    enqueue(stream, [=] {
      over(&stream_of(stream), ~uint64_t(0), {});
      call(stream, cudaSuccess, data);
    });
  });
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t call, void* data) {
  return api([&] {
    enqueue(stream, [=] {
      over(&stream_of(stream), ~uint64_t(0), {});
      call(data);
    });
  });
}
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* p, size_t, unsigned) {
  return api([&] {
    require_stream(stream);
    const klab::simt::Allocation* a = klab::simt::allocation_at(p);
    require(a != nullptr && a->home == klab::simt::Home::managed);
  });
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  return api([&] {
    CUstream_st& s = stream_of(stream);
    require(&s != &legacy(), cudaErrorStreamCaptureUnsupported);
    require(s.captured == nullptr, cudaErrorIllegalState);
    s.captured = std::make_shared<CUgraph_st>();
    s.captures = true;
    s.spoiled = false;
  });
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return api([&] {
    CUstream_st& s = stream_of(stream);
    require(s.captured != nullptr, cudaErrorIllegalState);
    require(s.captures, cudaErrorStreamCaptureUnmatched);
    const std::shared_ptr<CUgraph_st> made = s.captured;
    bool spoiled = false;
    for (CUstream_st* o : streams())
      if (o->captured == made) {
        spoiled = spoiled || o->spoiled;
        o->captured = nullptr;
        o->captures = false;
      }
    for (CUevent_st* e : events())
      if (e->captured == made) e->captured = nullptr;
    *graph = nullptr;
    require(!spoiled, cudaErrorStreamCaptureInvalidated);
    *graph = new CUgraph_st(std::move(*made));
  });
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return api([&] {
    const CUstream_st& s = stream_of(stream);
    *status = s.captured == nullptr ? cudaStreamCaptureStatusNone
              : s.spoiled           ? cudaStreamCaptureStatusInvalidated
                                    : cudaStreamCaptureStatusActive;
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return api([&] {
    require(event != nullptr);
    *event = new CUevent_st;
    (*event)->flags = flags;
    events().insert(*event);
  });
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return api([&] {
    require(events().erase(event) == 1, cudaErrorInvalidResourceHandle);
    delete event;
  });
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return api([&] {
    CUevent_st& e = event_of(event);
    CUstream_st& s = stream_of(stream);
    e.captured = s.captured;
    if (s.captured != nullptr) return;
    e.recorded = true;
    e.at = std::chrono::steady_clock::now();
    e.stream = &s;
    e.number = s.done;
    e.waits = s.waits;
  });
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return api([&] {
    const CUevent_st& e = event_of(event);
    require(e.captured == nullptr, cudaErrorStreamCaptureUnsupported);
    if (!e.recorded) return;
    over(e.stream, e.number, e.waits);
    if (e.stream == &legacy())  // work of other streams that came before it
      for (CUstream_st* o : streams())
        if ((o->flags & cudaStreamNonBlocking) == 0) over(o, e.number, {});
  });
}
cudaError_t cudaEventQuery(cudaEvent_t event) { return cudaEventSynchronize(event); }
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t from, cudaEvent_t to) {
  return api([&] {
    const CUevent_st &a = event_of(from), &b = event_of(to);
    require(a.recorded && b.recorded && ((a.flags | b.flags) & cudaEventDisableTiming) == 0,
            cudaErrorInvalidResourceHandle);
    *ms = std::chrono::duration<float, std::milli>(b.at - a.at).count();
  });
}

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
    enqueue(stream, [work = exec->work] { run_graph(work); });
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
void add_node(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count, Work work) {
  require(node != nullptr && graph != nullptr && (after != nullptr || count == 0));
  auto made = std::make_unique<CUgraphNode_st>();
  made->work = std::move(work);
  if (count > 0) made->after.assign(after, after + count);
  *node = made.get();
  graph->nodes.push_back(std::move(made));
}
}  // namespace

extern "C" {
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                   const cudaKernelNodeParams* p) {
  return api([&] {
    add_node(node, graph, after, count,
             work_of_launch(p->func, p->gridDim, p->blockDim, p->kernelParams, p->sharedMemBytes, false));
  });
}
cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                   const cudaMemcpy3DParms* p) {
  return api([&] { add_node(node, graph, after, count, [q = *p] { copy_3d(q); }); });
}
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                     void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return api([&] { add_node(node, graph, after, count, [=] { copy(to, from, bytes, kind); }); });
}
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                   const cudaMemsetParams* p) {
  return api([&] {
    require(p->elementSize == 1 || p->elementSize == 2 || p->elementSize == 4);
    add_node(node, graph, after, count, [q = *p] {
      for (size_t y = 0; y < std::max<size_t>(q.height, 1); ++y) {
        char* row = static_cast<char*>(q.dst) + y * q.pitch;
        fill(row, int(q.value & 0xFF), q.width * q.elementSize);
        for (size_t k = 0; k < q.width * q.elementSize; ++k) row[k] = char(q.value >> 8 * (k % q.elementSize));
      }
    });
  });
}
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                 const cudaHostNodeParams* p) {
  return api([&] {
    add_node(node, graph, after, count, [q = *p] {
      synchronized(nullptr, true);
      q.fn(q.userData);
    });
  });
}
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count) {
  return api([&] { add_node(node, graph, after, count, [] {}); });
}
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                     size_t count) {
  return api([&] {
    require(graph != nullptr);
    for (size_t k = 0; k < count; ++k) to[k]->after.push_back(from[k]);
  });
}
}
