#include "harness/gpu/gpu_use.h"

#include <dlfcn.h>

#include <cstdlib>

namespace klab {
namespace {

/// The few functions of the library that are called; their types are those of nvml.h.
class ManagementLibrary {
 public:
  ManagementLibrary() {
    void* library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) return;
    const auto init = find<int (*)()>(library, "nvmlInit_v2");
    const auto by_index = find<int (*)(unsigned, void**)>(library, "nvmlDeviceGetHandleByIndex_v2");
    rates_ = find<int (*)(void*, Rates*)>(library, "nvmlDeviceGetUtilizationRates");
    memory_ = find<int (*)(void*, Bytes*)>(library, "nvmlDeviceGetMemoryInfo");
    if (init == nullptr || by_index == nullptr || rates_ == nullptr || memory_ == nullptr) return;
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    const auto first = visible == nullptr ? 0U : unsigned(std::strtoul(visible, nullptr, 10));
    if (init() != 0 || by_index(first, &device_) != 0) device_ = nullptr;
  }

  std::optional<GpuUse> now() const {
    Rates rates{};
    Bytes bytes{};
    if (device_ == nullptr || rates_(device_, &rates) != 0 || memory_(device_, &bytes) != 0)
      return std::nullopt;
    return GpuUse{rates.gpu / 100.0, int64_t(bytes.used), int64_t(bytes.total)};
  }

 private:
  struct Rates {
    unsigned gpu, memory;  // percent
  };
  struct Bytes {
    unsigned long long total, free, used;
  };
  template <class F>
  static F find(void* library, const char* name) {
    return reinterpret_cast<F>(dlsym(library, name));
  }

  int (*rates_)(void*, Rates*) = nullptr;
  int (*memory_)(void*, Bytes*) = nullptr;
  void* device_ = nullptr;
};

}  // namespace

std::optional<GpuUse> gpu_use() {
  static const ManagementLibrary library;
  return library.now();
}

}  // namespace klab
