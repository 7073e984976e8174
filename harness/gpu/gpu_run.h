// Runs a CUDA variant on a GPU, with fences around its tensors in device memory.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/core/lab.h"
#include "harness/gpu/gpu.h"

namespace klab {

/// Where a variant's tensors lie.
enum class Place { device, host, pinned };
Place place_of(const LabOp& op, const Variant& variant);

/// One set of tensors, each between two fences.
class GpuTensors {
 public:
  GpuTensors(const Gpu& gpu, const LabOp& op, ShapeView shape, Place place = Place::device);
  ~GpuTensors();
  GpuTensors(const GpuTensors&) = delete;
  GpuTensors& operator=(const GpuTensors&) = delete;

  std::span<void* const> pointers() const { return pointers_; }
  int64_t bytes() const;
  void upload(std::span<void* const> host);
  void download(std::span<void* const> host) const;
  /// Throws if a fence was written; names the tensor and the place.
  void require_fences() const;

 private:
  void* alloc(size_t bytes) const;
  void free(void* p) const;
  void put(void* to, const void* from, size_t bytes) const;   // into a tensor
  void take(void* to, const void* from, size_t bytes) const;  // out of a tensor

  const Gpu& gpu_;
  Place place_;
  std::vector<TensorSpec> specs_;
  std::vector<void*> pointers_;
};

/// Implements `bind` of a CUDA variant while OnGpu holds: copies tensors to the GPU, runs, waits, and copies
/// back. Throws the device's error.
std::function<void()> gpu_bind(const std::string& variant, ShapeView shape, std::span<void* const> pointers);

}  // namespace klab
