// How busy a GPU is, by NVIDIA's management library where the driver has brought it.
#pragma once

#include <cstdint>
#include <optional>

namespace klab {

struct GpuUse {
  double busy = 0;  // share of the last period of NVML's (up to a second) in which a kernel ran, 0 to 1
  int64_t used = 0, memory = 0;  // bytes of its memory, by all programs
};

/// Returns the use of the first GPU that CUDA sees, by its number in CUDA_VISIBLE_DEVICES; nothing where libnvidia-ml.so.1 is missing
/// or has no answer.
std::optional<GpuUse> gpu_use();

}  // namespace klab
