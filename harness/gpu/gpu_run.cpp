#include "harness/gpu/gpu_run.h"

#include <fmt/core.h>

#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>

#include "harness/core/registry.h"

namespace klab {
namespace {

constexpr size_t kFence = 256;  // bytes before and after; keeps the alignment of the data between
constexpr unsigned char kPattern = 0xFD;

size_t bytes_of(const TensorSpec& spec) { return size_t(volume(spec.dims) * size_of(spec.element)); }

const bool place_added = [] {
  add_cuda_place({.chosen = on_gpu, .bind = gpu_bind});
  return true;
}();

}  // namespace

Place place_of(const LabOp& op, const Variant& variant) {
  return !op.op.on_host ? Place::device : variant.pinned ? Place::pinned : Place::host;
}

void* GpuTensors::alloc(size_t bytes) const {
  if (place_ == Place::device) return gpu_.alloc(bytes);
  if (place_ == Place::pinned) return gpu_.alloc_pinned(bytes);
  return ::operator new(bytes, std::align_val_t(kFence));
}

void GpuTensors::free(void* p) const {
  if (place_ == Place::device) return gpu_.free(p);
  if (place_ == Place::pinned) return gpu_.free_pinned(p);
  ::operator delete(p, std::align_val_t(kFence));
}

void GpuTensors::put(void* to, const void* from, size_t bytes) const {
  if (place_ == Place::device) return gpu_.upload(to, from, bytes);
  std::memcpy(to, from, bytes);
}

void GpuTensors::take(void* to, const void* from, size_t bytes) const {
  if (place_ == Place::device) return gpu_.download(to, from, bytes);
  std::memcpy(to, from, bytes);
}

GpuTensors::GpuTensors(const Gpu& gpu, const LabOp& op, ShapeView shape, Place place)
    : gpu_(gpu), place_(place), specs_(op.op.tensors(shape)) {
  const std::vector<unsigned char> fence(kFence, kPattern);
  for (const TensorSpec& spec : specs_) {
    const size_t n = bytes_of(spec);
    auto* begin = static_cast<char*>(alloc(n + 2 * kFence)) + kFence;
    pointers_.push_back(begin);
    put(begin - kFence, fence.data(), kFence);
    put(begin + n, fence.data(), kFence);
  }
}

GpuTensors::~GpuTensors() {
  for (void* p : pointers_) free(static_cast<char*>(p) - kFence);
}

int64_t GpuTensors::bytes() const {
  int64_t sum = 0;
  for (const TensorSpec& spec : specs_) sum += int64_t(bytes_of(spec));
  return sum;
}

void GpuTensors::upload(std::span<void* const> host) {
  for (size_t k = 0; k < specs_.size(); ++k)
    if (const size_t n = bytes_of(specs_[k]); n > 0 && host[k] != nullptr) put(pointers_[k], host[k], n);
}

void GpuTensors::download(std::span<void* const> host) const {
  for (size_t k = 0; k < specs_.size(); ++k)
    if (const size_t n = bytes_of(specs_[k]); n > 0 && host[k] != nullptr) take(host[k], pointers_[k], n);
}

void GpuTensors::require_fences() const {
  std::vector<unsigned char> fence(kFence);
  for (size_t k = 0; k < specs_.size(); ++k) {
    auto* begin = static_cast<char*>(pointers_[k]);
    const size_t n = bytes_of(specs_[k]);
    for (const bool behind : {false, true}) {
      take(fence.data(), behind ? begin + n : begin - kFence, kFence);
      for (size_t i = 0; i < kFence; ++i) {
        const size_t off = behind ? i : kFence - 1 - i;
        if (fence[off] != kPattern)
          throw std::runtime_error(fmt::format("{} was written {} bytes {}", specs_[k].name,
                                               behind ? i : i + 1,
                                               behind ? "past its end" : "before its beginning"));
      }
    }
  }
}

std::function<void()> gpu_bind(const std::string& id, ShapeView shape, std::span<void* const> pointers) {
  std::string why;
  const Gpu* device = gpu(&why);
  if (device == nullptr) throw std::runtime_error("no GPU here: " + why);
  const Variant* variant = find_variant(id);
  if (!variant->device) throw std::logic_error(id + " was not compiled for a GPU");
  const LabOp& op = *find_op(variant->op);
  struct Bound {
    std::unique_ptr<GpuTensors> tensors;
    std::function<void()> call;
  };
  // Allocate at the first call: after a kernel has faulted the device rejects even allocations, and then a
  // call should fail.
  const auto bound = std::make_shared<Bound>();
  return [device, variant, &op, bound, shape = std::vector<int64_t>(shape.begin(), shape.end()),
          host = std::vector<void*>(pointers.begin(), pointers.end())] {
    if (!bound->call) {
      bound->tensors = std::make_unique<GpuTensors>(*device, op, shape, place_of(op, *variant));
      std::vector<void*> given(bound->tensors->pointers().begin(), bound->tensors->pointers().end());
      for (size_t k = 0; k < given.size(); ++k)
        if (host[k] == nullptr) given[k] = nullptr;  // an optional tensor that the variant does not need
      bound->call = variant->device(shape, given);
    }
    bound->tensors->upload(host);
    bound->call();
    device->synchronize();
    bound->tensors->download(host);
    bound->tensors->require_fences();
  };
}

}  // namespace klab
