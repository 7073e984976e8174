#include "labs/radiance/train/backends.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

#include "harness/gpu/gpu.h"
#include "harness/simt/memory.h"
#include "harness/simt/modules.h"
#include "harness/simt/runtime_api.h"
#include "harness/simt/session.h"

namespace klab {
namespace {

// One launch for all samples and all parameters: no cache of a GPU would keep a stretch, and each launch
// costs time.
const StepSizes kWhole = {.passes = {0}, .stretch = 0};

}  // namespace

Backend simt_backend() {
  Backend b;
  b.name = "simt";
  b.in_host_memory = b.exact = false;
  b.alloc = [](size_t bytes, const std::string& tensor) {
    void* p = simt::device_alloc(bytes, tensor.c_str());
    simt::device_fill_zero(p, bytes);
    return p;
  };
  b.free = [](void* p, size_t) { simt::device_free(p); };
  // Copies are made at once, in the order of the calls; on a watched session's bus, loads have a stream of
  // their own.
  b.upload = [](void* to, const void* from, size_t bytes) {
    simt::host_copy(0, true, bytes);
    simt::device_upload(to, from, bytes);
  };
  b.download = [](void* to, const void* from, size_t bytes) {
    simt::host_copy(0, false, bytes);
    simt::device_download(to, from, bytes);
  };
  b.load = [](void* to, const void* from, size_t bytes) -> int64_t {
    simt::host_copy(1, true, bytes);
    simt::device_upload(to, from, bytes);
    return 0;
  };
  b.loaded = simt::host_copies_joined;
  b.fill = [](void* p, uint8_t byte, size_t bytes) {
    if (byte == 0) return simt::device_fill_zero(p, bytes);
    const std::vector<uint8_t> filled(bytes, byte);
    simt::device_upload(p, filled.data(), bytes);
  };
  b.bind = [](const Variant& v, ShapeView shape, std::span<void* const> pointers) {
    const bool traced = simt::Session::current().options().traced && simt::load_traced_variants();
    const auto& form = traced ? v.host_traced : v.host;
    if (!form) throw std::runtime_error(v.id + " was not compiled for the host");
    return form(shape, pointers);
  };
  b.wait = [] {};
  return b;
}

namespace {

/// Page-locked buffers for a few small uploads in flight, used in turn. A caller that makes more uploads than
/// there are buffers, without waiting for the stream, is blocked until one is free.
class Staging {
 public:
  explicit Staging(const Gpu* device)
      : device_(device), room_(static_cast<char*>(device->alloc_pinned(kTurns * Backend::kStaged))) {}
  ~Staging() { device_->free_pinned(room_); }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  void upload(void* to, const void* from, size_t bytes) {
    if (turn_ == kTurns) through();
    char* here = room_ + turn_++ * Backend::kStaged;
    std::memcpy(here, from, bytes);
    device_->upload_later(to, here, bytes);
  }
  void through() {
    device_->synchronize();
    turn_ = 0;
  }

 private:
  static constexpr size_t kTurns = 16;
  const Gpu* device_;
  char* room_;
  size_t turn_ = 0;
};

/// Loads through two halves of page-locked memory: one is filled while the other is copied. Allocated at the
/// first load: renderers have none, and page-locked memory is expensive.
class Loads {
 public:
  explicit Loads(const Gpu* device) : device_(device) {}
  ~Loads() {
    if (room_ == nullptr) return;
    try {
      for (const int half : {0, 1}) device_->half_wait(half);
    } catch (const std::exception&) {  // a lost GPU copies no more
    }
    device_->free_pinned(room_);
  }
  Loads(const Loads&) = delete;
  Loads& operator=(const Loads&) = delete;

  /// Loads, and returns how often it had to wait for a half.
  int64_t load(void* to, const void* from, size_t bytes) {
    if (room_ == nullptr) room_ = static_cast<char*>(device_->alloc_pinned(2 * kLoadHalf));
    int64_t waits = 0;
    for (size_t at = 0; at < bytes; at += kLoadHalf) {
      const size_t piece = std::min(kLoadHalf, bytes - at);
      char* const here = room_ + size_t(half_) * kLoadHalf;
      waits += device_->half_wait(half_) ? 1 : 0;
      std::memcpy(here, static_cast<const char*>(from) + at, piece);
      device_->load(static_cast<char*>(to) + at, here, piece);
      device_->half_sent(half_);
      half_ = 1 - half_;
    }
    return waits;
  }

 private:
  const Gpu* device_;
  char* room_ = nullptr;
  int half_ = 0;
};

}  // namespace

Backend cuda_backend() {
  std::string why;
  const Gpu* device = gpu(&why);
  if (device == nullptr) throw std::runtime_error("--backend cuda: " + why);
  const auto staging = std::make_shared<Staging>(device);
  const auto loads = std::make_shared<Loads>(device);
  Backend b;
  b.name = "cuda";
  b.in_host_memory = b.exact = false;
  b.fill = [device](void* p, uint8_t byte, size_t bytes) { device->fill(p, byte, bytes); };
  b.alloc = [device](size_t bytes, const std::string&) {
    void* p = device->alloc(bytes);
    device->fill(p, 0, bytes);
    return p;
  };
  b.free = [device](void* p, size_t) { device->free(p); };  // after all work of the GPU, loads included
  b.upload = device->upload;
  b.download = device->download;
  b.stage = [staging](void* to, const void* from, size_t bytes) { staging->upload(to, from, bytes); };
  b.load = [loads](void* to, const void* from, size_t bytes) { return loads->load(to, from, bytes); };
  b.loaded = device->loaded;
  b.load_room = 2 * kLoadHalf;
  b.mark = device->mark;
  b.between_marks = device->between_marks;
  b.available = [device] { return int64_t(device->free_memory()); };
  b.record = [device](const std::function<void()>& calls) -> std::function<void()> {
    device->capture_begin();
    try {
      calls();
    } catch (...) {
      try {
        device->graph_free(device->capture_end());
      } catch (const std::exception&) {  // the first error counts
      }
      throw;
    }
    const std::shared_ptr<void> graph(device->capture_end(), device->graph_free);
    return [device, graph] { device->graph_launch(graph.get()); };
  };
  b.bind = [](const Variant& v, ShapeView shape, std::span<void* const> pointers) {
    if (!v.device)
      throw std::runtime_error(v.id + " was not compiled for a GPU (configure with KLAB_CUDA=ON)");
    return v.device(shape, pointers);
  };
  b.wait = [staging] { staging->through(); };
  return b;
}

void require_room(const Backend& backend, int64_t bytes, const std::string& what, const std::string& remedy) {
  if (!backend.available) return;
  if (const int64_t free = backend.available(); bytes > free)
    throw std::runtime_error(
        fmt::format("--backend {}: {} needs {:.2f} GB of the GPU's memory and {:.2f} GB are free: {}",
                    backend.name, what, double(bytes) * 1e-9, double(free) * 1e-9, remedy));
}

namespace {

std::function<void(const char*)>& backend_hook() {
  static std::function<void(const char*)> called;
  return called;
}

/// Wraps a call so that the hook is called first.
template <class... Args, class Result>
void ask_first(std::function<Result(Args...)>& call, const char* name) {
  if (!call) return;
  call = [call, name](Args... args) -> Result {
    if (backend_hook()) backend_hook()(name);
    return call(args...);
  };
}

Backend asked_first(Backend b) {
  if (!backend_hook()) return b;
  ask_first(b.alloc, "alloc");
  ask_first(b.upload, "upload");
  ask_first(b.download, "download");
  ask_first(b.stage, "upload");
  ask_first(b.fill, "fill");
  ask_first(b.load, "load");
  ask_first(b.loaded, "loaded");
  ask_first(b.wait, "wait");
  ask_first(b.mark, "mark");
  ask_first(b.between_marks, "wait");
  b.bind = [bind = b.bind](const Variant& v, ShapeView shape, std::span<void* const> pointers) {
    auto work = bind(v, shape, pointers);
    ask_first(work, "launch");
    return work;
  };
  return b;
}

}  // namespace

void set_backend_hook(std::function<void(const char*)> hook) { backend_hook() = std::move(hook); }

BackendChoice backend_named(const std::string& name) {
  if (name == "cpu") return {cpu_backend(), {}, "cpu"};
  if (name == "simt") return {asked_first(simt_backend()), kWhole, "cuda", 1 << 11};
  if (name == "cuda") return {asked_first(cuda_backend()), kWhole, "cuda"};
  throw std::runtime_error(fmt::format("--backend {}: must be cpu, simt or cuda", name));
}

}  // namespace klab
