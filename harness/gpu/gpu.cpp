#include "harness/gpu/gpu.h"

#include <dlfcn.h>

#include <atomic>
#include <filesystem>
#include <stdexcept>
#include <string_view>

namespace klab {
namespace {
namespace fs = std::filesystem;

std::atomic<bool> on{false};
std::atomic<const Gpu*> other_gpu{nullptr};

/// Throws if a function of the module returned an error: text that stays valid until the next call, or
/// nullptr.
void require(const char* error) {
  if (error != nullptr) throw std::runtime_error(error);
}

template <class F>
F* function(void* module, const char* name) {
  void* found = dlsym(module, name);
  if (found == nullptr) throw std::runtime_error(std::string("the module of CUDA variants lacks ") + name);
  return reinterpret_cast<F*>(found);
}

fs::path module_file() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& folder :
       {program, program.parent_path(), program / "lib", program.parent_path() / "lib"})
    if (fs::exists(folder / "libklab_cuda_device.so", error)) return folder / "libklab_cuda_device.so";
  return {};
}

Gpu open_gpu() {
  const fs::path file = module_file();
  if (file.empty())
    throw std::runtime_error("this build has no kernels for a GPU (preset cuda, or the bundle, has)");
  // Without a driver there is no GPU. The module would load without it, but its first call would give a less
  // helpful error.
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (driver == nullptr) throw std::runtime_error("there is no NVIDIA driver here (libcuda.so.1)");
  void* module = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr)
    throw std::runtime_error(std::string("cannot load ") + file.string() + ": " + dlerror());
  require(function<const char*()>(module, "klab_gpu_open")());
  const auto text = function<const char*(int)>(module, "klab_gpu_text");
  const auto number = function<size_t(int)>(module, "klab_gpu_number");
  const auto alloc = function<const char*(void**, size_t)>(module, "klab_gpu_alloc");
  const auto free = function<const char*(void*)>(module, "klab_gpu_free");
  const auto alloc_pinned = function<const char*(void**, size_t)>(module, "klab_gpu_alloc_pinned");
  const auto free_pinned = function<const char*(void*)>(module, "klab_gpu_free_pinned");
  const auto copy = function<const char*(void*, const void*, size_t, int)>(module, "klab_gpu_copy");
  const auto fill = function<const char*(void*, int, size_t)>(module, "klab_gpu_fill");
  const auto upload_later =
      function<const char*(void*, const void*, size_t)>(module, "klab_gpu_upload_later");
  const auto load = function<const char*(void*, const void*, size_t)>(module, "klab_gpu_load");
  const auto loaded = function<const char*()>(module, "klab_gpu_loaded");
  const auto half_sent = function<const char*(int)>(module, "klab_gpu_half_sent");
  const auto half_wait = function<const char*(int, int*)>(module, "klab_gpu_half_wait");
  const auto free_memory = function<const char*(size_t*)>(module, "klab_gpu_free_memory");
  const auto capture_begin = function<const char*()>(module, "klab_gpu_capture_begin");
  const auto capture_end = function<const char*(void**)>(module, "klab_gpu_capture_end");
  const auto graph_launch = function<const char*(void*)>(module, "klab_gpu_graph_launch");
  const auto graph_free = function<const char*(void*)>(module, "klab_gpu_graph_free");
  const auto synchronize = function<const char*()>(module, "klab_gpu_synchronize");
  const auto begin = function<const char*()>(module, "klab_gpu_begin");
  const auto end = function<const char*(double*)>(module, "klab_gpu_end");
  const auto mark = function<const char*()>(module, "klab_gpu_mark");
  const auto announce = function<const char*(int)>(module, "klab_gpu_announce");
  const auto between = function<const char*(double*, size_t*)>(module, "klab_gpu_between_marks");
  return {
      .name = text(0),
      .driver = text(1),
      .compute_capability = int(number(0)),
      .multiprocessors = int(number(1)),
      .memory = number(2),
      .l2 = number(3),
      .clock = int(number(4)),
      .memory_clock = int(number(5)),
      .alloc =
          [alloc](size_t bytes) {
            void* p = nullptr;
            require_allocated(alloc(&p, bytes));
            return p;
          },
      .free = [free](void* p) { free(p); },  // called from code that must not throw
      .alloc_pinned =
          [alloc_pinned](size_t bytes) {
            void* p = nullptr;
            require_allocated(alloc_pinned(&p, bytes));
            return p;
          },
      .free_pinned = [free_pinned](void* p) { free_pinned(p); },
      .upload = [copy](void* d, const void* h, size_t n) { require(copy(d, h, n, 0)); },
      .download = [copy](void* h, const void* d, size_t n) { require(copy(h, d, n, 1)); },
      .fill = [fill](void* d, int byte, size_t n) { require(fill(d, byte, n)); },
      .upload_later = [upload_later](void* d, const void* h, size_t n) { require(upload_later(d, h, n)); },
      .load = [load](void* d, const void* h, size_t n) { require(load(d, h, n)); },
      .loaded = [loaded] { require(loaded()); },
      .half_sent = [half_sent](int half) { require(half_sent(half)); },
      .half_wait =
          [half_wait](int half) {
            int waited = 0;
            require(half_wait(half, &waited));
            return waited != 0;
          },
      .free_memory =
          [free_memory] {
            size_t bytes = 0;
            require(free_memory(&bytes));
            return bytes;
          },
      .capture_begin = [capture_begin] { require(capture_begin()); },
      .capture_end =
          [capture_end] {
            void* graph = nullptr;
            require(capture_end(&graph));
            return graph;
          },
      .graph_launch = [graph_launch](void* graph) { require(graph_launch(graph)); },
      .graph_free = [graph_free](void* graph) { graph_free(graph); },  // called from code that must not throw
      .synchronize = [synchronize] { require(synchronize()); },
      .begin = [begin] { require(begin()); },
      .end =
          [end] {
            double seconds = 0;
            require(end(&seconds));
            return seconds;
          },
      .mark = [mark] { require(mark()); },
      .between_marks =
          [between] {
            std::vector<double> seconds(4096);  // more than a list has calls
            size_t count = seconds.size();
            require(between(seconds.data(), &count));
            seconds.resize(count);
            return seconds;
          },
      .announce = [announce](int which) { require(announce(which)); }};
}

}  // namespace

void require_allocated(const char* said) {
  if (said != nullptr && std::string_view(said).starts_with("cudaErrorMemoryAllocation"))
    throw GpuOutOfMemory(said);
  require(said);
}

const Gpu* gpu(std::string* why) {
  if (const Gpu* other = other_gpu.load(); other != nullptr) return other;
  static std::string reason;
  static const Gpu opened = [] {
    try {
      return open_gpu();
    } catch (const std::exception& e) {
      reason = e.what();
      return Gpu{};
    }
  }();
  if (why != nullptr) *why = reason;
  return opened.alloc ? &opened : nullptr;
}

void stand_in(const Gpu* other) { other_gpu = other; }

OnGpu::OnGpu(bool yes) : before_(on.exchange(yes)) {}
OnGpu::~OnGpu() { on = before_; }
bool on_gpu() { return on; }

}  // namespace klab
