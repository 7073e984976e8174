// The device that a program sees: the GPU that klab emulates (harness/simt/gpus.h), as the only one.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "harness/cuda_program/children.h"
#include "harness/cuda_program/state.h"
#include "harness/simt/gpus.h"
#include "harness/simt/memory.h"
#include "harness/simt/runtime_api.h"

using klab::program::api;
using klab::program::require;
using klab::program::state;

namespace {

constexpr size_t kTotalMemory = size_t(16) << 30;  // as reported to programs
// Rates that klab does not use. They are the H100's, so that programs that divide by them print sensible
// numbers.
constexpr int kClockKHz = 1'980'000, kMemoryClockKHz = 2'619'000, kBusBits = 5120;
size_t limits[8] = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 0, 0};

void describe(cudaDeviceProp* p) {
  const auto& gpu = klab::simt::named_gpu();
  const auto& d = klab::simt::device_limits();
  *p = cudaDeviceProp{};
  std::snprintf(p->name, sizeof p->name, "%s (on the host, by klab)", gpu.name);
  p->totalGlobalMem = kTotalMemory;
  p->sharedMemPerBlock = d.shared_per_block;
  p->sharedMemPerBlockOptin = d.shared_per_block_optin;
  p->sharedMemPerMultiprocessor = gpu.shared;
  p->reservedSharedMemPerBlock = gpu.shared_reserved;
  p->regsPerBlock = p->regsPerMultiprocessor = gpu.registers;
  p->warpSize = 32;
  p->memPitch = 2147483647;
  p->maxThreadsPerBlock = 1024;
  p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
  p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = 2147483647;
  p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->clockRate = kClockKHz;
  p->memoryClockRate = kMemoryClockKHz;
  p->memoryBusWidth = kBusBits;
  p->totalConstMem = 65536;
  p->major = gpu.compute_capability / 10;
  p->minor = gpu.compute_capability % 10;
  p->textureAlignment = 512;
  p->texturePitchAlignment = 32;
  p->deviceOverlap = 1;
  p->asyncEngineCount = 3;
  p->multiProcessorCount = d.multiprocessors;
  p->canMapHostMemory = 1;
  p->maxTexture1D = 131072;
  p->maxTexture1DLinear = 1 << 28;
  p->maxTexture2D[0] = 131072;
  p->maxTexture2D[1] = 65536;
  for (int& n : p->maxTexture3D) n = 16384;
  p->maxTexture2DLayered[0] = p->maxTexture2DLayered[1] = 32768;
  p->maxTexture2DLayered[2] = 2048;
  p->surfaceAlignment = 512;
  p->concurrentKernels = 1;
  p->unifiedAddressing = 1;
  p->l2CacheSize = 50 << 20;
  p->maxThreadsPerMultiProcessor = 32 * gpu.warps;
  p->maxBlocksPerMultiProcessor = gpu.blocks;
  p->streamPrioritiesSupported = 1;
  p->globalL1CacheSupported = p->localL1CacheSupported = 1;
  p->managedMemory = p->concurrentManagedAccess = 1;
  p->computePreemptionSupported = 1;
  p->canUseHostPointerForRegisteredMem = 1;
  p->cooperativeLaunch = 1;
  p->singleToDoublePrecisionPerfRatio = 2;
  p->memoryPoolsSupported = 1;
}

int attribute_of(const cudaDeviceProp& p, cudaDeviceAttr attribute) {
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY:
      return 1024;
    case cudaDevAttrMaxBlockDimZ:
      return 64;
    case cudaDevAttrMaxGridDimX:
      return p.maxGridSize[0];
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
      return 65535;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return int(p.sharedMemPerBlock);
    case cudaDevAttrTotalConstantMemory:
      return int(p.totalConstMem);
    case cudaDevAttrWarpSize:
      return 32;
    case cudaDevAttrMaxPitch:
      return int(p.memPitch);
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      return p.regsPerBlock;
    case cudaDevAttrClockRate:
      return p.clockRate;
    case cudaDevAttrTextureAlignment:
      return int(p.textureAlignment);
    case cudaDevAttrMultiProcessorCount:
      return p.multiProcessorCount;
    case cudaDevAttrMemoryClockRate:
      return p.memoryClockRate;
    case cudaDevAttrGlobalMemoryBusWidth:
      return p.memoryBusWidth;
    case cudaDevAttrL2CacheSize:
      return p.l2CacheSize;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return p.maxThreadsPerMultiProcessor;
    case cudaDevAttrAsyncEngineCount:
      return p.asyncEngineCount;
    case cudaDevAttrComputeCapabilityMajor:
      return p.major;
    case cudaDevAttrComputeCapabilityMinor:
      return p.minor;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return int(p.sharedMemPerMultiprocessor);
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return int(p.sharedMemPerBlockOptin);
    case cudaDevAttrReservedSharedMemoryPerBlock:
      return int(p.reservedSharedMemPerBlock);
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      return p.maxBlocksPerMultiProcessor;
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrGpuOverlap:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrStreamPrioritiesSupported:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrMemoryPoolsSupported:
      return 1;
    case cudaDevAttrClusterLaunch:
      return klab::simt::device_limits().compute_capability >= 90 ? 1 : 0;
    case cudaDevAttrKernelExecTimeout:
    case cudaDevAttrIntegrated:
    case cudaDevAttrComputeMode:
    case cudaDevAttrEccEnabled:
    case cudaDevAttrCooperativeMultiDeviceLaunch:
      return 0;
  }
  throw klab::program::Failed{cudaErrorInvalidValue};
}

cudaError_t nothing() {
  return api([] {});
}

}  // namespace

extern "C" {
cudaError_t cudaGetDeviceCount(int* count) {
  return api([&] { *count = 1; }, true);
}
cudaError_t cudaSetDevice(int device) {
  return api([&] { require(device == 0, cudaErrorInvalidDevice); });
}
cudaError_t cudaInitDevice(int device, unsigned, unsigned) { return cudaSetDevice(device); }
cudaError_t cudaGetDevice(int* device) {
  return api([&] { *device = 0; });
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* prop, int device) {
  return api([&] {
    require(device == 0, cudaErrorInvalidDevice);
    describe(prop);
  });
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return api([&] {
    require(device == 0, cudaErrorInvalidDevice);
    cudaDeviceProp p;
    describe(&p);
    *value = attribute_of(p, attribute);
  });
}
cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*) { return cudaGetDevice(device); }
cudaError_t cudaDeviceSynchronize() {
  refuse_in_kernel("cudaDeviceSynchronize");
  return api_without_wait([] {
    klab::program::require_no_capture();
    klab::program::synchronized(nullptr, true);
  });
}
cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
cudaError_t cudaDeviceReset() {
  return api(
      [] {
        klab::program::synchronized(nullptr, true);
        // A reset revives a lost device. It also frees its memory.
        for (const klab::simt::Allocation* a : klab::simt::live_allocations())
          if (a->home == klab::simt::Home::device) klab::simt::device_free(a->begin);
        state().broken = cudaSuccess;
        klab::program::last_error() = cudaSuccess;
      },
      true);
}
cudaError_t cudaThreadExit() { return cudaDeviceReset(); }
cudaError_t cudaSetDeviceFlags(unsigned) { return nothing(); }
cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  return api([&] { *flags = cudaDeviceMapHost; });
}
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return nothing(); }
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return nothing(); }
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
  return api([&] {
    require(config != nullptr);
    *config = cudaSharedMemBankSizeFourByte;  // of every GPU since compute capability 5
  });
}
cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  return api([&] {
    require(size_t(limit) < 8);
    limits[limit] = value;
  });
}
cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  return api([&] {
    require(size_t(limit) < 8);
    *value = limits[limit];
  });
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return api([&] {
    require(device == 0 && peer == 0, cudaErrorInvalidDevice);
    *can = 0;
  });
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) {
  return api([] { require(false, cudaErrorInvalidDevice); });
}
cudaError_t cudaDeviceDisablePeerAccess(int) {
  return api([] { require(false, cudaErrorPeerAccessNotEnabled); });
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return api([&] {
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = -5;
  });
}
cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device) {
  return api([&] {
    require(device == 0, cudaErrorInvalidDevice);
    std::snprintf(id, size_t(std::max(length, 0)), "0000:00:00.0");
  });
}
cudaError_t cudaDriverGetVersion(int* version) {
  return api([&] { *version = CUDART_VERSION; }, true);
}
cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }
cudaError_t cudaProfilerStart() { return nothing(); }
cudaError_t cudaProfilerStop() { return nothing(); }
cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total) {
  return api([&] {
    *total = kTotalMemory;
    *free_bytes = kTotalMemory - std::min(kTotalMemory, klab::simt::device_bytes_in_use());
  });
}
}
