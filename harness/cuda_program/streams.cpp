// Streams and events. Work runs when it is submitted. The runtime only records what a program must wait for,
// and what is captured into graphs.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>
#include <map>
#include <set>
#include <thread>

#include "harness/cuda_program/children.h"
#include "harness/cuda_program/stream_state.h"
#include "harness/cuda_program/unfinished.h"
#include "harness/simt/background.h"
#include "harness/simt/memory.h"
#include "klab_cuda/graph_nodes.h"

namespace klab::program {
namespace {

CUstream_st& legacy() {
  static CUstream_st& one = *new CUstream_st;
  return one;
}
std::set<CUstream_st*>& streams() {
  static auto& list = *new std::set<CUstream_st*>;
  return list;
}
std::set<CUevent_st*>& events() {
  static auto& list = *new std::set<CUevent_st*>;
  return list;
}

/// Returns the default stream of this host thread. Only the legacy stream is ordered with it.
CUstream_st& of_this_thread() {
  static thread_local CUstream_st* one = nullptr;
  if (one == nullptr) streams().insert(one = new CUstream_st);
  return *one;
}

CUstream_st& stream_of(cudaStream_t s) {
  if (s == nullptr || s == cudaStreamLegacy) return legacy();
  if (s == cudaStreamPerThread) return of_this_thread();
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
  bool reads;
};
std::vector<Busy>& busy_list() {
  static auto& list = *new std::vector<Busy>;
  return list;
}

std::atomic<bool> any_busy{false};
/// Call after each change of the list.
void count_busy() { any_busy = !busy_list().empty(); }

/// Records that the stream's work up to that number is over, and so is everything it waited for.
void over(CUstream_st* s, uint64_t number, const std::vector<std::pair<CUstream_st*, uint64_t>>& waits) {
  std::erase_if(busy_list(), [&](const Busy& b) {
    if (b.stream == s && b.number <= number) return true;
    return std::ranges::any_of(waits,
                               [&](const auto& w) { return b.stream == w.first && b.number <= w.second; });
  });
  count_busy();
}

/// Returns the streams whose work comes before the next work of this one in any case: the legacy stream and those that are not marked
/// non-blocking wait for each other.
std::vector<CUstream_st*> ordered_with(const CUstream_st& s) {
  std::vector<CUstream_st*> others;
  if (&s == &legacy())
    std::ranges::copy_if(streams(), std::back_inserter(others),
                         [](const CUstream_st* o) { return (o->flags & cudaStreamNonBlocking) == 0; });
  else if ((s.flags & cudaStreamNonBlocking) == 0)
    others.push_back(&legacy());
  return others;
}

void run_in_stream(CUstream_st& s, const Work& work, bool meanwhile) {
  run_in(s, ordered_with(s), work, meanwhile);
}

/// Returns whether work that the host waits for with the stream is unfinished.
bool is_unfinished(const CUstream_st& s) {
  if (!has_unfinished()) return false;
  if (is_unfinished(s.id, s.before)) return true;
  return &s == &legacy() && std::ranges::any_of(ordered_with(s), [](const CUstream_st* o) {
    return is_unfinished(o->id, o->before);
  });
}

void host_waited_for_event(const CUevent_st& e) {
  host_waited_for(e.before);
  over(e.stream, e.number, e.waits);
  if (e.stream == &legacy())  // work of other streams that preceded it
    for (CUstream_st* o : streams())
      if ((o->flags & cudaStreamNonBlocking) == 0) over(o, e.number, {});
}

/// Gives a launch that waits for something time to see what was written.
void let_launch_go_on() {
  if (has_unfinished()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void host_waited_for_stream(const CUstream_st& s) {
  StreamClock all = s.before;
  all.add(s.id, s.done);
  host_waited_for(all);
}

}  // namespace

bool has_streams() { return !streams().empty(); }

void require_stream(cudaStream_t s) { stream_of(s); }

void require_no_capture() {
  bool any = false;
  for (CUstream_st* s : streams())
    if (s->captured != nullptr) any = s->spoiled = true;
  require(!any, cudaErrorStreamCaptureUnsupported);
}

void enqueue(cudaStream_t stream, Work work, bool meanwhile) {
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
  run_in_stream(s, work, meanwhile);
}

void run_in_legacy(const Work& work) {
  if (is_unfinished(legacy())) throw MustWait{};
  run_in_stream(legacy(), work, true);
}

void synchronized(cudaStream_t stream, bool all) {
  if (all ? has_unfinished() : is_unfinished(stream_of(stream))) throw MustWait{};
  if (all) {
    host_waited_for_all();
    busy_list().clear();
    count_busy();
    return;
  }
  CUstream_st& s = stream_of(stream);
  over(&s, ~uint64_t(0), s.waits);
  host_waited_for_stream(s);
  // The legacy stream waits for all streams that are not marked non-blocking.
  if (&s == &legacy())
    for (CUstream_st* o : streams())
      if ((o->flags & cudaStreamNonBlocking) == 0) {
        over(o, ~uint64_t(0), o->waits);
        host_waited_for_stream(*o);
      }
}

void busy(const void* p, cudaStream_t stream, const std::string& why, bool reads) {
  const simt::Allocation* a = simt::allocation_at(p);
  CUstream_st& s = stream_of(stream);
  if (a == nullptr || a->home == simt::Home::device || a->home == simt::Home::library ||
      s.captured != nullptr)
    return;
  busy_list().push_back({a, &s, s.done, why, reads});
  count_busy();
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
  count_busy();
}

bool nothing_busy() { return !any_busy; }

std::string busy_reason(const void* p, bool write) {
  const simt::Allocation* a = simt::allocation_at(p);
  const auto found =
      std::ranges::find_if(busy_list(), [&](const Busy& b) { return b.what == a && (write || !b.reads); });
  if (found == busy_list().end()) return "";
  std::string why = found->why;
  std::erase_if(busy_list(), [&](const Busy& b) { return b.what == a; });  // reported once
  count_busy();
  return why;
}

}  // namespace klab::program

using namespace klab::program;

extern "C" {
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return api_without_wait([&] {
    require(stream != nullptr && flags <= 1);
    *stream = new CUstream_st;
    (*stream)->flags = flags;
    (*stream)->priority = std::clamp(priority, -5, 0);
    streams().insert(*stream);
    klab::simt::copies_may_write = true;
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
    // Work of the destroyed stream continues, so its results still require a wait for the device.
    for (CUstream_st* s : streams())
      std::erase_if(s->waits, [&](const auto& w) { return w.first == stream; });
    for (Busy& b : busy_list())
      if (b.stream == stream) b.stream = &legacy(), b.number = ++state().work_number;
    if ((stream->flags & cudaStreamNonBlocking) == 0) {
      legacy().before.add(stream->before);
      legacy().before.add(stream->id, stream->done);
    }
    delete stream;
  });
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  refuse_in_kernel("cudaStreamSynchronize");
  return api_without_wait([&] {
    CUstream_st& s = stream_of(stream);
    if (s.captured != nullptr) {
      s.spoiled = true;
      throw Failed{cudaErrorStreamCaptureUnsupported};
    }
    synchronized(stream, false);
  });
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  let_launch_go_on();
  return api_without_wait([&] {
    const CUstream_st& s = stream_of(stream);
    require(s.captured == nullptr, cudaErrorStreamCaptureUnsupported);
    require(!is_unfinished(s), cudaErrorNotReady);
    synchronized(stream, false);
  });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return api_without_wait([&] {
    CUstream_st& s = stream_of(stream);
    CUevent_st& e = event_of(event);
    if (e.captured != nullptr) {
      require(s.captured == nullptr || s.captured == e.captured, cudaErrorStreamCaptureMerge);
      s.captured = e.captured;
      return;
    }
    if (!e.recorded) return;
    s.before.add(e.before);
    s.waits.emplace_back(e.stream, e.number);
    s.waits.insert(s.waits.end(), e.waits.begin(), e.waits.end());
  });
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t call, void* data, unsigned) {
  return api_without_wait([&] {
    enqueue(
        stream,
        [=] {
          over(&stream_of(stream), ~uint64_t(0), {});
          call(stream, cudaSuccess, data);
        },
        true);
  });
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t call, void* data) {
  return api_without_wait([&] {
    enqueue(
        stream,
        [=] {
          over(&stream_of(stream), ~uint64_t(0), {});
          call(data);
        },
        true);
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
cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t*,
                                          const cudaGraphEdgeData*, size_t, cudaStreamCaptureMode) {
  return api([&] {
    CUstream_st& s = stream_of(stream);
    require(graph != nullptr);
    require(&s != &legacy(), cudaErrorStreamCaptureUnsupported);
    require(s.captured == nullptr, cudaErrorIllegalState);
    // What is captured comes behind all nodes that the graph has.
    s.captured = std::shared_ptr<CUgraph_st>(graph, [](CUgraph_st*) {});
    s.captures = s.captures_into = true;
    s.spoiled = false;
  });
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return api([&] {
    CUstream_st& s = stream_of(stream);
    require(s.captured != nullptr, cudaErrorIllegalState);
    require(s.captures, cudaErrorStreamCaptureUnmatched);
    const std::shared_ptr<CUgraph_st> made = s.captured;
    const bool into = std::exchange(s.captures_into, false);
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
    *graph = into ? made.get() : new CUgraph_st(std::move(*made));
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
  return api_without_wait([&] {
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
  return api_without_wait([&] {
    CUevent_st& e = event_of(event);
    CUstream_st& s = stream_of(stream);
    e.captured = s.captured;
    if (s.captured != nullptr) return;
    e.recorded = true;
    e.at = std::chrono::steady_clock::now();
    e.stream = &s;
    // An event in the legacy stream comes after all work submitted to other streams before.
    e.number = &s == &legacy() ? state().work_number.load() : s.done;
    e.waits = s.waits;
    e.before = s.before;
    e.before.add(s.id, s.done);
    if (&s == &legacy())
      for (const CUstream_st* o : streams())
        if ((o->flags & cudaStreamNonBlocking) == 0) {
          e.before.add(o->before);
          e.before.add(o->id, o->done);
        }
  });
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return api_without_wait([&] {
    const CUevent_st& e = event_of(event);
    require(e.captured == nullptr, cudaErrorStreamCaptureUnsupported);
    if (!e.recorded) return;
    if (is_unfinished(0, e.before)) throw MustWait{};
    host_waited_for_event(e);
  });
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  let_launch_go_on();
  return api_without_wait([&] {
    const CUevent_st& e = event_of(event);
    require(e.captured == nullptr, cudaErrorStreamCaptureUnsupported);
    if (!e.recorded) return;
    require(!is_unfinished(0, e.before), cudaErrorNotReady);
    host_waited_for_event(e);
  });
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t from, cudaEvent_t to) {
  return api([&] {
    const CUevent_st &a = event_of(from), &b = event_of(to);
    require(a.recorded && b.recorded && ((a.flags | b.flags) & cudaEventDisableTiming) == 0,
            cudaErrorInvalidResourceHandle);
    *ms = std::chrono::duration<float, std::milli>(b.at - a.at).count();
  });
}
}
