// A stand-in for a GPU whose two streams run their work as late, or as early, as their order allows: code
// that is only right when it runs at once fails here. Memory and kernels are the host executor's.
#pragma once

#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/gpu/gpu.h"
#include "harness/program/plan.h"
#include "harness/simt/memory.h"
#include "harness/simt/runtime_api.h"

namespace klab {

class LateGpu {
 public:
  /// When the stream of loads runs: only when it is waited for, or as soon as its own dependencies are done.
  enum class Loads { late, early };
  /// Part of the order that such a device lacks, to see that it is needed.
  enum class Lacks { nothing, load_behind_steps, steps_behind_loads, half_wait };

  explicit LateGpu(Loads when, Lacks what = Lacks::nothing) : loads_(when), lacks_(what) {
    gpu.name = "Late";
    gpu.alloc = [this](size_t bytes) {
      require_allocated(in_use + bytes > room
                            ? "cudaErrorMemoryAllocation: out of memory in cudaMalloc(p, bytes)"
                            : nullptr);
      in_use += bytes;
      return simt::device_alloc(bytes, "tensor");
    };
    gpu.free = [this](void* p) {  // as cudaFree: behind everything
      finish(kSteps);
      finish(kLoads);
      in_use -= simt::allocation_at(p)->bytes;
      simt::device_free(p);
    };
    gpu.alloc_pinned = [](size_t bytes) { return ::operator new(bytes); };
    gpu.free_pinned = [this](void* p) {
      freed_in_flight += p == loads_from_ && !streams_[kLoads].waiting.empty() ? 1 : 0;
      ::operator delete(p);
    };
    gpu.upload = [this](void* d, const void* h, size_t n) {
      ++uploads;
      give(kSteps, [=] { simt::device_upload(d, h, n); });
      finish(kSteps);
    };
    gpu.download = [this](void* h, const void* d, size_t n) {
      give(kSteps, [=] { simt::device_download(h, d, n); });
      finish(kSteps);
    };
    gpu.fill = [this](void* p, int byte, size_t n) {
      launch([=] {
        const std::vector<char> filled(n, char(byte));
        simt::device_upload(p, filled.data(), n);
      });
    };
    gpu.upload_later = [this](void* d, const void* h, size_t n) {
      give(kSteps, [=] { simt::device_upload(d, h, n); });
    };
    gpu.free_memory = [this] { return room - in_use; };
    gpu.synchronize = [this] { finish(kSteps); };
    set_loads();
    set_graphs();
    stand_in(&gpu);
  }
  ~LateGpu() {
    for (Variant* v : compiled_) v->device = nullptr;
    stand_in(nullptr);
  }
  LateGpu(const LateGpu&) = delete;
  LateGpu& operator=(const LateGpu&) = delete;

  /// As if nvcc had compiled the plan's variants; `look` is called as each is run there.
  using Look = std::function<void(const Variant&, ShapeView, std::span<void* const>)>;
  void compile(const Plan& plan, const Look& look) {
    for (const auto& [op, id] : plan.ids()) {
      auto* v = const_cast<Variant*>(find_variant(id));
      if (!v->host) continue;
      v->device = [this, v, look](ShapeView shape, std::span<void* const> p) -> std::function<void()> {
        return
            [this, v, look, work = v->host(shape, p), dims = std::vector<int64_t>(shape.begin(), shape.end()),
             pointers = std::vector<void*>(p.begin(), p.end())] {
              launch([v, look, work, dims, pointers] {
                look(*v, dims, pointers);
                work();
              });
            };
      };
      compiled_.push_back(v);
    }
  }
  /// A kernel in the stream of the steps.
  void launch(std::function<void()> work) {
    if (capturing_)
      graph_.push_back(std::move(work));
    else
      give(kSteps, std::move(work));
  }

  Gpu gpu;
  size_t room = size_t(1) << 40;  // bytes of its memory
  size_t in_use = 0;              // of them, but for what kernels take
  int64_t loads = 0;              // given
  int64_t uploads = 0;            // for which the host waits
  int64_t host_waits = 0;         // for a half of the room for loads
  int64_t freed_in_flight = 0;    // that room was freed while a load read from it
  std::string load_fails;         // with this message from now on, unless empty

 private:
  enum Stream { kSteps, kLoads };
  struct Work {
    std::function<void()> run;
    size_t behind = 0;  // amount of the other stream's work to wait for
  };
  struct Queue {
    std::deque<Work> waiting;
    size_t done = 0;
    size_t given() const { return done + waiting.size(); }
  };

  void set_loads() {
    gpu.load = [this](void* d, const void* h, size_t n) {
      if (!load_fails.empty()) throw std::runtime_error(load_fails);
      ++loads;
      if (loads_from_ == nullptr) loads_from_ = h;
      const size_t behind = lacks_ == Lacks::load_behind_steps ? 0 : streams_[kSteps].given();
      give(
          kLoads, [=] { simt::device_upload(d, h, n); }, behind);
    };
    gpu.loaded = [this] {
      if (lacks_ != Lacks::steps_behind_loads)
        give(
            kSteps, [] {}, streams_[kLoads].given());
    };
    gpu.half_sent = [this](int half) { sent_.at(size_t(half)) = streams_[kLoads].given(); };
    gpu.half_wait = [this](int half) {
      if (lacks_ == Lacks::half_wait || streams_[kLoads].done >= sent_.at(size_t(half))) return false;
      ++host_waits;
      run_to(kLoads, sent_.at(size_t(half)));
      return true;
    };
  }
  void set_graphs() {
    using Graph = std::vector<std::function<void()>>;
    gpu.capture_begin = [this] { capturing_ = true; };
    gpu.capture_end = [this]() -> void* {
      capturing_ = false;
      return new Graph(std::exchange(graph_, {}));
    };
    gpu.graph_launch = [this](void* graph) {
      for (const auto& work : *static_cast<Graph*>(graph)) give(kSteps, work);
    };
    gpu.graph_free = [](void* graph) { delete static_cast<Graph*>(graph); };
  }

  void give(Stream s, std::function<void()> run, size_t behind = 0) {
    if (capturing_)
      throw std::runtime_error("cudaErrorStreamCaptureUnsupported: not while a list is captured");
    streams_[s].waiting.push_back({std::move(run), behind});
    hurry();
  }
  void finish(Stream s) { run_to(s, streams_[s].given()); }
  void run_to(Stream s, size_t end) {
    while (streams_[s].done < end) {
      const size_t at = streams_[s].done;
      run_to(s == kSteps ? kLoads : kSteps, streams_[s].waiting.front().behind);
      if (streams_[s].done != at) continue;  // it was in a hurry meanwhile
      const Work work = std::move(streams_[s].waiting.front());
      streams_[s].waiting.pop_front();
      work.run();
      ++streams_[s].done;
      if (s == kSteps) hurry();
    }
  }
  void hurry() {
    Queue& q = streams_[kLoads];
    while (loads_ == Loads::early && !q.waiting.empty() && q.waiting.front().behind <= streams_[kSteps].done)
      run_to(kLoads, q.done + 1);
  }

  Loads loads_;
  Lacks lacks_;
  std::array<Queue, 2> streams_;
  std::array<size_t, 2> sent_{};
  const void* loads_from_ = nullptr;  // the first half
  bool capturing_ = false;
  std::vector<std::function<void()>> graph_;
  std::vector<Variant*> compiled_;
};

}  // namespace klab
