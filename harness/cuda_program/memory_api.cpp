// Memory: allocations of all kinds, and fills.
#include <algorithm>
#include <map>
#include <memory>
#include <new>

#include "harness/cuda_program/graph_memory.h"
#include "harness/cuda_program/state.h"
#include "harness/simt/background.h"
#include "harness/simt/memory.h"
#include "harness/simt/unset.h"
#include "klab_cuda/library_memory.h"

namespace klab::program {
namespace {

constexpr size_t kPitch = 512;  // alignment of rows
constexpr size_t kMost = size_t(16) << 30;

size_t up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

void* allocate(size_t bytes, simt::Home home, const char* what) {
  require(bytes <= kMost && simt::device_bytes_in_use() + bytes <= kMost, cudaErrorMemoryAllocation);
  const simt::SourceLine at = place_of_call();
  std::string name = what;
  if (at.line > 0) name += " of line " + std::to_string(at.line);
  void* p = simt::device_alloc(bytes, name.c_str());
  simt::Allocation* a = simt::allocation_at(p);
  a->home = home;
  if (home == simt::Home::pinned || home == simt::Home::managed)
    simt::host_shares_memory = [] { return true; };
  // Writes by the host are not seen, so all of it counts as written.
  if (home != simt::Home::device) simt::mark_defined(p, bytes, true);
  return p;
}

void release(void* p, bool host) {
  if (p == nullptr) return;
  if (GraphMemory* memory = graph_memory_at(p); memory != nullptr && !host) return memory->give_back();
  const simt::Allocation* a = simt::allocation_at(p);
  if (a != nullptr && !a->live && a->begin == p)
    add_host_finding(simt::Kind::use_after_free, a->name + " is freed a second time");
  require(a != nullptr && a->live && a->begin == p && (a->home == simt::Home::pinned) == host);
  forget_busy(p);
  simt::device_free(p);
}

/// Host memory that was registered for kernels: address and length. It is watched in place.
std::map<const char*, size_t>& registered() {
  static auto& list = *new std::map<const char*, size_t>;
  return list;
}

}  // namespace

void* allocate_for_graph(size_t bytes) {
  require(bytes > 0);
  return allocate(bytes, simt::Home::device, "memory of a graph");
}
void release_device(void* p) { release(p, false); }

}  // namespace klab::program

using namespace klab::program;
namespace simt = klab::simt;

extern "C" {
void* klab_library_malloc(size_t bytes) {
  void* p = nullptr;
  const cudaError_t error = api(
      [&] { p = allocate(std::max<size_t>(bytes, 1), simt::Home::library, "device memory of a library"); });
  if (error != cudaSuccess) throw std::bad_alloc();
  return p;
}
void klab_library_free(void* p) {
  api([&] { release(p, false); });
}
cudaError_t cudaMalloc(void** p, size_t bytes) {
  return api([&] {
    require(p != nullptr);
    *p = nullptr;
    if (bytes > 0) *p = allocate(bytes, simt::Home::device, "cudaMalloc");
  });
}
cudaError_t cudaFree(void* p) {
  return api_without_wait([&] {
    synchronized(nullptr, true);
    release(p, false);
  });
}
cudaError_t cudaMallocHost(void** p, size_t bytes) {
  return api([&] {
    require(p != nullptr);
    *p = bytes > 0 ? allocate(bytes, simt::Home::pinned, "cudaMallocHost") : nullptr;
  });
}
cudaError_t cudaHostAlloc(void** p, size_t bytes, unsigned) { return cudaMallocHost(p, bytes); }
cudaError_t cudaFreeHost(void* p) {
  return api([&] { release(p, true); });
}
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  return api([&] {
    const simt::Allocation* a = simt::allocation_at(host);
    require(a != nullptr && a->live && a->home == simt::Home::pinned);
    *device = host;
  });
}
cudaError_t cudaHostGetFlags(unsigned* flags, void* host) {
  return api([&] {
    require(simt::allocation_at(host) != nullptr);
    *flags = cudaHostAllocMapped;
  });
}
cudaError_t cudaHostRegister(void* p, size_t bytes, unsigned) {
  return api([&] {
    require(p != nullptr && bytes > 0);
    require(registered().emplace(static_cast<const char*>(p), bytes).second,
            cudaErrorHostMemoryAlreadyRegistered);
  });
}
cudaError_t cudaHostUnregister(void* p) {
  return api([&] {
    require(registered().erase(static_cast<const char*>(p)) == 1, cudaErrorHostMemoryNotRegistered);
  });
}
cudaError_t cudaMallocManaged(void** p, size_t bytes, unsigned flags) {
  return api([&] {
    require(p != nullptr && bytes > 0 && (flags == cudaMemAttachGlobal || flags == cudaMemAttachHost));
    *p = allocate(bytes, simt::Home::managed, "cudaMallocManaged");
    // Until somebody writes it, kernels find it unset; libraries, whose writes are not seen, overwrite that too.
    if (simt::unset_words_exist) std::fill_n(static_cast<uint32_t*>(*p), bytes / 4, simt::kUnsetWord);
  });
}
cudaError_t cudaMallocPitch(void** p, size_t* pitch, size_t width, size_t height) {
  return api([&] {
    require(p != nullptr && pitch != nullptr);
    *pitch = up(width, kPitch);
    *p = width * height > 0 ? allocate(*pitch * height, simt::Home::device, "cudaMallocPitch") : nullptr;
  });
}
cudaError_t cudaMalloc3D(cudaPitchedPtr* p, cudaExtent extent) {
  return api([&] {
    require(p != nullptr);
    const size_t pitch = up(extent.width, kPitch);
    *p = {allocate(pitch * extent.height * extent.depth, simt::Home::device, "cudaMalloc3D"), pitch,
          extent.width, extent.height};
  });
}
cudaError_t cudaMallocAsync(void** p, size_t bytes, cudaStream_t stream) {
  return api([&] {
    require_stream(stream);
    *p = bytes > 0 ? capture_allocation(stream, bytes) : nullptr;
    if (bytes > 0 && *p == nullptr) *p = allocate(bytes, simt::Home::device, "cudaMallocAsync");
  });
}
cudaError_t cudaFreeAsync(void* p, cudaStream_t stream) {
  return api([&] { enqueue(stream, [p] { release(p, false); }); });
}
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return api([&] {
    require(device == 0, cudaErrorInvalidDevice);
    static char one;
    *pool = reinterpret_cast<cudaMemPool_t>(&one);
  });
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) {
  return api([] {});
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) {
  return api([] {});
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* p) {
  return api([&] {
    const simt::Allocation* a = memory_at(p);
    const bool known = a != nullptr && a->live;
    *attributes = {};
    attributes->device = known ? 0 : -2;
    attributes->type = !known                           ? cudaMemoryTypeUnregistered
                       : a->home == simt::Home::pinned  ? cudaMemoryTypeHost
                       : a->home == simt::Home::managed ? cudaMemoryTypeManaged
                                                        : cudaMemoryTypeDevice;
    if (known) attributes->devicePointer = const_cast<void*>(p);
    if (!known || a->home != simt::Home::device) attributes->hostPointer = const_cast<void*>(p);
  });
}
cudaError_t cudaMemPrefetchAsync(const void* p, size_t bytes, int device, cudaStream_t stream) {
  return api([&] {
    require_stream(stream);
    require(device == 0 || device == cudaCpuDeviceId, cudaErrorInvalidDevice);
    const simt::Allocation* a = simt::allocation_at(p);
    require(a != nullptr && a->live && a->home == simt::Home::managed &&
            static_cast<const char*>(p) + bytes <= a->begin + a->bytes);
  });
}
cudaError_t cudaMemAdvise(const void* p, size_t, cudaMemoryAdvise, int) {
  return api([&] {
    const simt::Allocation* a = simt::allocation_at(p);
    require(a != nullptr && a->live && a->home == simt::Home::managed);
  });
}
cudaError_t cudaMemset(void* p, int value, size_t bytes) {
  return api_without_wait([&] {
    enqueue(
        nullptr, [=] { fill(p, value, bytes); }, true);
  });
}
cudaError_t cudaMemsetAsync(void* p, int value, size_t bytes, cudaStream_t stream) {
  return api_without_wait([&] {
    enqueue(
        stream, [=] { fill(p, value, bytes); }, true);
  });
}
cudaError_t cudaMemset2DAsync(void* p, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  return api_without_wait([&] {
    require(width <= pitch || height <= 1, cudaErrorInvalidPitchValue);
    const Work rows = [=] {
      for (size_t y = 0; y < height; ++y) fill(static_cast<char*>(p) + y * pitch, value, width);
    };
    enqueue(stream, rows, true);
  });
}
cudaError_t cudaMemset2D(void* p, size_t pitch, int value, size_t width, size_t height) {
  return cudaMemset2DAsync(p, pitch, value, width, height, nullptr);
}
cudaError_t cudaMemset3D(cudaPitchedPtr p, int value, cudaExtent extent) {
  return api([&] {
    enqueue(nullptr, [=] {
      for (size_t z = 0; z < extent.depth; ++z)
        for (size_t y = 0; y < extent.height; ++y)
          fill(static_cast<char*>(p.ptr) + (z * p.ysize + y) * p.pitch, value, extent.width);
    });
  });
}

cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* desc, cudaExtent extent,
                              unsigned flags) {
  return api([&] {
    require(array != nullptr && desc != nullptr && extent.width > 0);
    auto made = std::make_unique<cudaArray>(
        cudaArray{*desc, extent.width, extent.height, extent.depth, flags, nullptr});
    require(made->texel() > 0, cudaErrorInvalidChannelDescriptor);
    made->data = static_cast<char*>(
        allocate(made->row_bytes() * made->rows() * made->layers(), simt::Home::device, "cudaMallocArray"));
    *array = made.release();
  });
}
cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* desc, size_t width,
                            size_t height, unsigned flags) {
  return cudaMalloc3DArray(array, desc, {width, height, 0}, flags);
}
cudaError_t cudaFreeArray(cudaArray_t array) {
  return api([&] {
    if (array == nullptr) return;
    release(array->data, false);
    delete array;
  });
}
cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t* array, const cudaChannelFormatDesc* desc,
                                     cudaExtent extent, unsigned levels, unsigned flags) {
  return api([&] {
    require(array != nullptr && desc != nullptr && extent.width > 0 && levels > 0);
    const bool is_layered = (flags & (cudaArrayLayered | cudaArrayCubemap)) != 0;
    auto made = std::make_unique<cudaMipmappedArray>();
    for (unsigned k = 0; k < levels; ++k) {
      cudaArray_t level = nullptr;
      const cudaError_t error = cudaMalloc3DArray(&level, desc, extent, flags);
      require(error == cudaSuccess, error);
      made->levels.push_back(level);
      if (extent.width <= 1 && extent.height <= 1 && (is_layered || extent.depth <= 1)) break;
      const auto half = [](size_t n) { return n > 1 ? n / 2 : n; };
      extent = {half(extent.width), half(extent.height), is_layered ? extent.depth : half(extent.depth)};
    }
    *array = made.release();
  });
}
cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t* level, cudaMipmappedArray_const_t array,
                                       unsigned number) {
  return api([&] {
    require(level != nullptr && array != nullptr && number < array->levels.size());
    *level = array->levels[number];
  });
}
cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t array) {
  return api([&] {
    if (array == nullptr) return;
    for (cudaArray_t level : array->levels) {
      release(level->data, false);
      delete level;
    }
    delete array;
  });
}
cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* desc, cudaExtent* extent, unsigned* flags,
                             cudaArray_t array) {
  return api([&] {
    require(array != nullptr, cudaErrorInvalidResourceHandle);
    if (desc != nullptr) *desc = array->desc;
    if (extent != nullptr) *extent = {array->width, array->height, array->depth};
    if (flags != nullptr) *flags = array->flags;
  });
}
cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind f) {
  return {x, y, z, w, f};
}
}
