// Copies between host and device: plain, by rows, by layers, and of variables.
#include <algorithm>
#include <cstring>
#include <set>

#include "harness/cuda_program/stream_state.h"
#include "harness/simt/memory.h"

namespace klab::program {
namespace {

enum class Side { host, device };

/// Checks that the bytes may be copied from or to: they must lie in one live allocation or in host memory.
Side side_of(const void* p, size_t bytes) {
  const auto* c = static_cast<const char*>(p);
  const simt::Allocation* a = memory_at(p);
  if (a == nullptr) {
    require(!simt::is_device(p));
    return Side::host;
  }
  if (a->live && a->home != simt::Home::device && c >= a->begin && c + bytes <= a->begin + a->bytes)
    return Side::device;
  const bool live = a->live && !a->given_back;
  if (!live || c < a->begin || c + bytes > a->begin + a->bytes) {
    add_host_finding(
        live ? simt::Kind::out_of_bounds : simt::Kind::use_after_free,
        "a copy or fill of " + std::to_string(bytes) + " bytes in " + a->name + " (" +
            std::to_string(a->bytes) + " bytes), " +
            (live ? "byte " + std::to_string(c - a->begin) + " on, does not fit" : "which has been freed"));
    throw Failed{cudaErrorInvalidValue};
  }
  return Side::device;
}

bool both(const void* p) {
  const simt::Allocation* a = simt::allocation_at(p);
  return a != nullptr && a->live && a->home != simt::Home::device;
}

/// Checks that the declared direction matches the memory: host memory is not the device's. Pinned and managed
/// memory is both.
void check_kind(const void* to, Side to_side, const void* from, Side from_side, cudaMemcpyKind kind) {
  require(unsigned(kind) <= 4, cudaErrorInvalidMemcpyDirection);
  if (kind == cudaMemcpyDefault) return;
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (!both(to)) require((to_side == Side::device) == to_device);
  if (!both(from)) require((from_side == Side::device) == from_device);
}

bool is_of_host(const void* p) { return memory_at(p) == nullptr || both(p); }

/// One side of a 3-D copy, as rows.
struct Box {
  char* begin;
  size_t pitch, layer;
  char* row(size_t y, size_t z) const { return begin + z * layer + y * pitch; }
};
Box box_of(cudaArray_t array, const cudaPos& pos, const cudaPitchedPtr& ptr) {
  if (array != nullptr)
    return {array->data + (pos.z * array->rows() + pos.y) * array->row_bytes() + pos.x * array->texel(),
            array->row_bytes(), array->row_bytes() * array->rows()};
  return {static_cast<char*>(ptr.ptr) + (pos.z * ptr.ysize + pos.y) * ptr.pitch + pos.x, ptr.pitch,
          ptr.pitch * ptr.ysize};
}

}  // namespace

void copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  if (bytes == 0) return;
  require(to != nullptr && from != nullptr);
  for (const void* p : {static_cast<const void*>(to), from}) {
    const simt::Allocation* a = bare_name(p);
    if (a == nullptr) continue;
    add_host_finding(simt::Kind::host_access, "a copy is given the name of " + a->name +
                                                  ", which is no address on the device: use " +
                                                  (p == to ? "cudaMemcpyToSymbol" : "cudaMemcpyFromSymbol") +
                                                  ", or cudaGetSymbolAddress");
    throw Failed{cudaErrorInvalidValue};
  }
  const Side to_side = side_of(to, bytes), from_side = side_of(from, bytes);
  check_kind(to, to_side, from, from_side, kind);
  if (is_of_host(from) != is_of_host(to)) simt::host_copy(0, is_of_host(from), bytes);
  touches_in_stream(from, bytes, false);
  touches_in_stream(to, bytes, true);
  if (to_side == Side::device) simt::mark_defined(to, bytes, true);
  if (!simt::is_device(to) && to_side == Side::host) brought_to_host(to, from, bytes);
  if (to_side == Side::device) brought_to_device(to, from, bytes);
  std::memmove(to, from, bytes);
}

void copy_2d(char* to, size_t to_pitch, const char* from, size_t from_pitch, size_t width, size_t height,
             cudaMemcpyKind kind) {
  require(height <= 1 || (width <= to_pitch && width <= from_pitch), cudaErrorInvalidPitchValue);
  for (size_t y = 0; y < height; ++y) copy(to + y * to_pitch, from + y * from_pitch, width, kind);
}

void copy_3d(const cudaMemcpy3DParms& p) {
  const Box to = box_of(p.dstArray, p.dstPos, p.dstPtr), from = box_of(p.srcArray, p.srcPos, p.srcPtr);
  // For arrays the width counts texels.
  const size_t texel = p.dstArray != nullptr   ? p.dstArray->texel()
                       : p.srcArray != nullptr ? p.srcArray->texel()
                                               : 1;
  for (size_t z = 0; z < p.extent.depth; ++z)
    for (size_t y = 0; y < p.extent.height; ++y)
      copy(to.row(y, z), from.row(y, z), p.extent.width * texel, cudaMemcpyDefault);
}

Work work_of_symbol(void* symbol, size_t symbol_bytes, void* other, size_t bytes, size_t offset,
                    cudaMemcpyKind kind, bool from_symbol) {
  require(simt::module_at(symbol) != nullptr && !simt::is_device(symbol), cudaErrorInvalidSymbol);
  require(offset + bytes <= symbol_bytes);
  require(kind == cudaMemcpyDefault || kind == cudaMemcpyDeviceToDevice ||
              kind == (from_symbol ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice),
          cudaErrorInvalidMemcpyDirection);
  char* at = static_cast<char*>(symbol) + offset;
  return [=] {
    require(bytes == 0 || other != nullptr);
    const bool device = side_of(other, bytes) == Side::device && !both(other);
    if (kind != cudaMemcpyDefault) require(both(other) || device == (kind == cudaMemcpyDeviceToDevice));
    if (!device) simt::host_copy(0, !from_symbol, bytes);
    if (from_symbol) {
      if (simt::is_device(other)) {
        simt::mark_defined(other, bytes, true);
        brought_to_device(other, at, bytes);
      } else {
        brought_to_host(other, at, bytes);
      }
      std::memcpy(other, at, bytes);
    } else {
      simt::mark_defined(at, bytes, true);
      brought_to_device(at, other, bytes);
      std::memcpy(at, other, bytes);
    }
  };
}

void fill(void* p, int value, size_t bytes) {
  if (bytes == 0) return;
  if (const simt::Allocation* a = bare_name(p); a != nullptr) {
    add_host_finding(simt::Kind::host_access,
                     "a fill is given the name of " + a->name +
                         ", which is no address on the device: use cudaGetSymbolAddress");
    throw Failed{cudaErrorInvalidValue};
  }
  require(side_of(p, bytes) == Side::device);
  touches_in_stream(p, bytes, true);
  std::memset(p, value, bytes);
  simt::mark_defined(p, bytes, true);
}

namespace {
std::set<const char*>& addressed() {
  static auto& variables = *new std::set<const char*>;
  return variables;
}
}  // namespace

const simt::Allocation* bare_name(const void* p) {
  if (p == nullptr || simt::is_device(p)) return nullptr;
  const simt::Allocation* a = memory_at(p);
  return a == nullptr || addressed().contains(a->begin) ? nullptr : a;
}

namespace {

/// Copies immediately. The caller waits for it as far as CUDA does: copies within the device are only
/// started.
void now(Work work, bool waits) {
  require_no_capture();
  run_in_legacy(work);
  if (waits) synchronized(nullptr, false);
}

void later(cudaStream_t stream, void* to, const void* from, Work work) {
  enqueue(stream, std::move(work), true);
  const auto device_only = [](const void* p) { return memory_at(p) != nullptr && !both(p); };
  if (device_only(from) && both(to)) busy(to, stream, "the device copies to it");
  if (both(from) && device_only(to)) busy(from, stream, "the device copies from it", true);
}

}  // namespace
}  // namespace klab::program

using namespace klab::program;
namespace simt = klab::simt;

extern "C" {
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return api_without_wait(
      [&] { now([=] { copy(to, from, bytes, kind); }, is_of_host(to) || is_of_host(from)); });
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return api_without_wait([&] { later(stream, to, from, [=] { copy(to, from, bytes, kind); }); });
}
cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes) {
  return api([&] {
    require(to_device == 0 && from_device == 0, cudaErrorInvalidDevice);
    copy(to, from, bytes, cudaMemcpyDeviceToDevice);
  });
}
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes,
                                cudaStream_t) {
  return cudaMemcpyPeer(to, to_device, from, from_device, bytes);
}
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                         size_t height, cudaMemcpyKind kind) {
  return api_without_wait([&] {
    now(
        [=] {
          copy_2d(static_cast<char*>(to), to_pitch, static_cast<const char*>(from), from_pitch, width, height,
                  kind);
        },
        is_of_host(to) || is_of_host(from));
  });
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return api_without_wait([&] {
    later(stream, to, from, [=] {
      copy_2d(static_cast<char*>(to), to_pitch, static_cast<const char*>(from), from_pitch, width, height,
              kind);
    });
  });
}
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* p) {
  return api_without_wait([&] { now([q = *p] { copy_3d(q); }, true); });
}
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* p, cudaStream_t stream) {
  return api_without_wait([&] {
    enqueue(
        stream, [q = *p] { copy_3d(q); }, true);
  });
}
cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                                size_t width, size_t height, cudaMemcpyKind kind) {
  return api([&] {
    require(to != nullptr, cudaErrorInvalidResourceHandle);
    now(
        [=] {
          copy_2d(to->data + y * to->row_bytes() + x, to->row_bytes(), static_cast<const char*>(from), pitch,
                  width, height, kind);
        },
        true);
  });
}
cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                                  size_t width, size_t height, cudaMemcpyKind kind) {
  return api([&] {
    require(from != nullptr, cudaErrorInvalidResourceHandle);
    now(
        [=] {
          copy_2d(static_cast<char*>(to), pitch, from->data + y * from->row_bytes() + x, from->row_bytes(),
                  width, height, kind);
        },
        true);
  });
}
cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t bytes,
                              cudaMemcpyKind kind) {
  return api([&] {
    require(to != nullptr, cudaErrorInvalidResourceHandle);
    now([=] { copy(to->data + y * to->row_bytes() + x, from, bytes, kind); }, true);
  });
}
cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
                                cudaMemcpyKind kind) {
  return api([&] {
    require(from != nullptr, cudaErrorInvalidResourceHandle);
    now([=] { copy(to, from->data + y * from->row_bytes() + x, bytes, kind); }, true);
  });
}

cudaError_t klab_cuda_symbol(const void* symbol, size_t, void** address) {
  return api([&] {
    const simt::Allocation* a = memory_at(symbol);
    require(a != nullptr || simt::module_at(symbol) != nullptr, cudaErrorInvalidSymbol);
    if (a != nullptr) addressed().insert(a->begin);
    *address = const_cast<void*>(symbol);
  });
}
cudaError_t klab_cuda_copy_symbol(void* symbol, size_t symbol_bytes, void* other, size_t bytes, size_t offset,
                                  cudaMemcpyKind kind, int from_symbol, int async, cudaStream_t stream) {
  return api_without_wait([&] {
    const Work work = work_of_symbol(symbol, symbol_bytes, other, bytes, offset, kind, from_symbol != 0);
    if (async) return enqueue(stream, work, true);
    now(work, true);
  });
}
}
