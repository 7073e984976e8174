// Functions of the driver API that have a counterpart in the runtime. Errors that both have, have the same numbers.
#include "klab_cuda/driver.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

namespace {

struct NamedResult {
  CUresult result;
  const char *name, *text;
};
#define KLAB_RESULT(name, text) \
  { CUDA_##name, "CUDA_" #name, text }
constexpr NamedResult kResults[] = {
    KLAB_RESULT(SUCCESS, "no error"),
    KLAB_RESULT(ERROR_INVALID_VALUE, "invalid argument"),
    KLAB_RESULT(ERROR_OUT_OF_MEMORY, "out of memory"),
    KLAB_RESULT(ERROR_NOT_INITIALIZED, "initialization error"),
    KLAB_RESULT(ERROR_DEINITIALIZED, "driver shutting down"),
    KLAB_RESULT(ERROR_PROFILER_DISABLED, "profiler disabled while using external profiling tool"),
    KLAB_RESULT(ERROR_PROFILER_NOT_INITIALIZED, "profiler not initialized"),
    KLAB_RESULT(ERROR_PROFILER_ALREADY_STARTED, "profiler already started"),
    KLAB_RESULT(ERROR_PROFILER_ALREADY_STOPPED, "profiler already stopped"),
    KLAB_RESULT(ERROR_STUB_LIBRARY, "the library is a stub"),
    KLAB_RESULT(ERROR_DEVICE_UNAVAILABLE, "the device is busy or unavailable"),
    KLAB_RESULT(ERROR_NO_DEVICE, "no device is detected"),
    KLAB_RESULT(ERROR_INVALID_DEVICE, "invalid device ordinal"),
    KLAB_RESULT(ERROR_DEVICE_NOT_LICENSED, "the device has no license"),
    KLAB_RESULT(ERROR_INVALID_IMAGE, "invalid kernel image"),
    KLAB_RESULT(ERROR_INVALID_CONTEXT, "invalid device context"),
    KLAB_RESULT(ERROR_CONTEXT_ALREADY_CURRENT, "context already current"),
    KLAB_RESULT(ERROR_MAP_FAILED, "mapping failed"),
    KLAB_RESULT(ERROR_UNMAP_FAILED, "unmapping failed"),
    KLAB_RESULT(ERROR_ARRAY_IS_MAPPED, "the array is mapped"),
    KLAB_RESULT(ERROR_ALREADY_MAPPED, "the resource is mapped already"),
    KLAB_RESULT(ERROR_NO_BINARY_FOR_GPU, "no kernel image for this device"),
    KLAB_RESULT(ERROR_ALREADY_ACQUIRED, "the resource is acquired already"),
    KLAB_RESULT(ERROR_NOT_MAPPED, "the resource is not mapped"),
    KLAB_RESULT(ERROR_NOT_MAPPED_AS_ARRAY, "the resource is not mapped as an array"),
    KLAB_RESULT(ERROR_NOT_MAPPED_AS_POINTER, "the resource is not mapped as a pointer"),
    KLAB_RESULT(ERROR_ECC_UNCORRECTABLE, "uncorrectable ECC error"),
    KLAB_RESULT(ERROR_UNSUPPORTED_LIMIT, "limit is not supported"),
    KLAB_RESULT(ERROR_CONTEXT_ALREADY_IN_USE, "the context is in use by another thread"),
    KLAB_RESULT(ERROR_PEER_ACCESS_UNSUPPORTED, "peer access is not supported"),
    KLAB_RESULT(ERROR_INVALID_PTX, "PTX compilation failed"),
    KLAB_RESULT(ERROR_INVALID_GRAPHICS_CONTEXT, "invalid graphics context"),
    KLAB_RESULT(ERROR_NVLINK_UNCORRECTABLE, "uncorrectable NVLink error"),
    KLAB_RESULT(ERROR_JIT_COMPILER_NOT_FOUND, "the PTX compiler is not found"),
    KLAB_RESULT(ERROR_UNSUPPORTED_PTX_VERSION, "the version of PTX is not supported"),
    KLAB_RESULT(ERROR_JIT_COMPILATION_DISABLED, "PTX compilation is disabled"),
    KLAB_RESULT(ERROR_UNSUPPORTED_EXEC_AFFINITY, "execution affinity is not supported"),
    KLAB_RESULT(ERROR_UNSUPPORTED_DEVSIDE_SYNC, "device code cannot wait for kernels"),
    KLAB_RESULT(ERROR_INVALID_SOURCE, "device kernel source is invalid"),
    KLAB_RESULT(ERROR_FILE_NOT_FOUND, "file not found"),
    KLAB_RESULT(ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, "symbol of a shared object not found"),
    KLAB_RESULT(ERROR_SHARED_OBJECT_INIT_FAILED, "shared object initialization failed"),
    KLAB_RESULT(ERROR_OPERATING_SYSTEM, "a call of the operating system failed"),
    KLAB_RESULT(ERROR_INVALID_HANDLE, "invalid resource handle"),
    KLAB_RESULT(ERROR_ILLEGAL_STATE, "the operation cannot be performed in the present state"),
    KLAB_RESULT(ERROR_NOT_FOUND, "named symbol not found"),
    KLAB_RESULT(ERROR_NOT_READY, "device not ready"),
    KLAB_RESULT(ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
    KLAB_RESULT(ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
    KLAB_RESULT(ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated"),
    KLAB_RESULT(ERROR_LAUNCH_INCOMPATIBLE_TEXTURING, "launch with incompatible texturing mode"),
    KLAB_RESULT(ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled"),
    KLAB_RESULT(ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled"),
    KLAB_RESULT(ERROR_PRIMARY_CONTEXT_ACTIVE, "the primary context is active"),
    KLAB_RESULT(ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
    KLAB_RESULT(ERROR_ASSERT, "device-side assert triggered"),
    KLAB_RESULT(ERROR_TOO_MANY_PEERS, "peer mapping resources exhausted"),
    KLAB_RESULT(ERROR_HOST_MEMORY_ALREADY_REGISTERED,
                "part or all of the requested memory range is already mapped"),
    KLAB_RESULT(ERROR_HOST_MEMORY_NOT_REGISTERED,
                "pointer does not correspond to a registered memory region"),
    KLAB_RESULT(ERROR_HARDWARE_STACK_ERROR, "hardware stack error"),
    KLAB_RESULT(ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction was encountered"),
    KLAB_RESULT(ERROR_MISALIGNED_ADDRESS, "misaligned address"),
    KLAB_RESULT(ERROR_INVALID_ADDRESS_SPACE, "operation not supported on global/shared address space"),
    KLAB_RESULT(ERROR_INVALID_PC, "invalid program counter"),
    KLAB_RESULT(ERROR_LAUNCH_FAILED, "unspecified launch failure"),
    KLAB_RESULT(ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "too many blocks in cooperative launch"),
    KLAB_RESULT(ERROR_NOT_PERMITTED, "operation not permitted"),
    KLAB_RESULT(ERROR_NOT_SUPPORTED, "operation not supported"),
    KLAB_RESULT(ERROR_SYSTEM_NOT_READY, "system not yet initialized"),
    KLAB_RESULT(ERROR_SYSTEM_DRIVER_MISMATCH,
                "system has unsupported display driver / cuda driver combination"),
    KLAB_RESULT(ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE,
                "forward compatibility is not supported on this device"),
    KLAB_RESULT(ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing"),
    KLAB_RESULT(ERROR_STREAM_CAPTURE_INVALIDATED, "operation failed due to a previous error during capture"),
    KLAB_RESULT(ERROR_STREAM_CAPTURE_MERGE,
                "operation would result in a merge of separate capture sequences"),
    KLAB_RESULT(ERROR_STREAM_CAPTURE_UNMATCHED, "capture was not ended in the same stream as it began"),
    KLAB_RESULT(ERROR_STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work"),
    KLAB_RESULT(ERROR_STREAM_CAPTURE_ISOLATION, "dependency created on uncaptured work in another stream"),
    KLAB_RESULT(ERROR_STREAM_CAPTURE_IMPLICIT,
                "operation would make the legacy stream depend on a capturing blocking stream"),
    KLAB_RESULT(ERROR_CAPTURED_EVENT,
                "operation not permitted on an event last recorded in a capturing stream"),
    KLAB_RESULT(ERROR_STREAM_CAPTURE_WRONG_THREAD,
                "attempt to terminate a thread-local capture sequence from another thread"),
    KLAB_RESULT(ERROR_TIMEOUT, "wait operation timed out"),
    KLAB_RESULT(ERROR_GRAPH_EXEC_UPDATE_FAILURE,
                "the graph update was not performed because it included changes which violated constraints"),
    KLAB_RESULT(ERROR_EXTERNAL_DEVICE, "an error occurred on a device outside of CUDA"),
    KLAB_RESULT(ERROR_INVALID_CLUSTER_SIZE, "invalid cluster configuration"),
    KLAB_RESULT(ERROR_UNKNOWN, "unknown error"),
};
#undef KLAB_RESULT
const NamedResult* named_result(CUresult result) {
  const auto at = std::ranges::find(kResults, result, &NamedResult::result);
  return at == std::end(kResults) ? nullptr : at;
}

CUresult result_of(cudaError_t error) { return CUresult(error); }
void* pointer(CUdeviceptr p) { return reinterpret_cast<void*>(p); }
CUresult checked(CUdevice device) { return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE; }

/// The only context: that of the runtime.
CUcontext the_context() {
  static char one;
  return reinterpret_cast<CUcontext>(&one);
}
CUresult given(CUcontext* context) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *context = the_context();
  return CUDA_SUCCESS;
}
CUresult checked(CUcontext context) {
  return context == nullptr || context == the_context() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

}  // namespace

extern "C" {
CUresult cuGetErrorName(CUresult error, const char** name) {
  const NamedResult* r = named_result(error);
  *name = r == nullptr ? nullptr : r->name;
  return r == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult error, const char** text) {
  const NamedResult* r = named_result(error);
  *text = r == nullptr ? nullptr : r->text;
  return r == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CUresult cuInit(unsigned flags) { return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; }
CUresult cuDriverGetVersion(int* version) { return result_of(cudaDriverGetVersion(version)); }
CUresult cuDeviceGet(CUdevice* device, int number) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = 0;
  return checked(number);
}
CUresult cuDeviceGetCount(int* count) { return result_of(cudaGetDeviceCount(count)); }
CUresult cuDeviceGetName(char* name, int bytes, CUdevice device) {
  if (name == nullptr || bytes <= 0) return CUDA_ERROR_INVALID_VALUE;
  cudaDeviceProp p;
  const cudaError_t error = cudaGetDeviceProperties(&p, device);
  if (error == cudaSuccess) std::snprintf(name, size_t(bytes), "%s", p.name);
  return result_of(error);
}
CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  cudaDeviceProp p;
  const cudaError_t error = cudaGetDeviceProperties(&p, device);
  if (error == cudaSuccess) *bytes = p.totalGlobalMem;
  return result_of(error);
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return result_of(cudaDeviceGetAttribute(value, cudaDeviceAttr(attribute), device));
}
CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  cudaDeviceProp p;
  const cudaError_t error = cudaGetDeviceProperties(&p, device);
  if (error == cudaSuccess) *major = p.major, *minor = p.minor;
  return result_of(error);
}
CUresult cuCtxCreate(CUcontext* context, unsigned, CUdevice device) {
  const CUresult bad = checked(device);
  return bad != CUDA_SUCCESS ? bad : given(context);
}
CUresult cuCtxDestroy(CUcontext context) { return checked(context); }
CUresult cuCtxSetCurrent(CUcontext context) { return checked(context); }
CUresult cuCtxGetCurrent(CUcontext* context) { return given(context); }
CUresult cuCtxPushCurrent(CUcontext context) { return checked(context); }
CUresult cuCtxPopCurrent(CUcontext* context) { return context == nullptr ? CUDA_SUCCESS : given(context); }
CUresult cuCtxGetDevice(CUdevice* device) { return result_of(cudaGetDevice(device)); }
CUresult cuCtxSynchronize(void) { return result_of(cudaDeviceSynchronize()); }
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return cuCtxCreate(context, 0, device);
}
CUresult cuDevicePrimaryCtxRelease(CUdevice device) { return checked(device); }
CUresult cuMemGetInfo(size_t* free, size_t* total) { return result_of(cudaMemGetInfo(free, total)); }
CUresult cuMemAlloc(CUdeviceptr* p, size_t bytes) {
  if (p == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  void* made = nullptr;
  const cudaError_t error = cudaMalloc(&made, bytes);
  *p = reinterpret_cast<CUdeviceptr>(made);
  return result_of(error);
}
CUresult cuMemFree(CUdeviceptr p) { return result_of(cudaFree(pointer(p))); }
CUresult cuMemAllocHost(void** p, size_t bytes) { return result_of(cudaMallocHost(p, bytes)); }
CUresult cuMemFreeHost(void* p) { return result_of(cudaFreeHost(p)); }
CUresult cuMemAllocManaged(CUdeviceptr* p, size_t bytes, unsigned flags) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  void* made = nullptr;
  const cudaError_t error = cudaMallocManaged(&made, bytes, flags);
  *p = reinterpret_cast<CUdeviceptr>(made);
  return result_of(error);
}
CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) {
  return result_of(cudaMemcpy(pointer(to), from, bytes, cudaMemcpyHostToDevice));
}
CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) {
  return result_of(cudaMemcpy(to, pointer(from), bytes, cudaMemcpyDeviceToHost));
}
CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return result_of(cudaMemcpy(pointer(to), pointer(from), bytes, cudaMemcpyDeviceToDevice));
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return result_of(cudaMemcpyAsync(pointer(to), from, bytes, cudaMemcpyHostToDevice, stream));
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return result_of(cudaMemcpyAsync(to, pointer(from), bytes, cudaMemcpyDeviceToHost, stream));
}
CUresult cuMemsetD8(CUdeviceptr p, unsigned char value, size_t bytes) {
  return result_of(cudaMemset(pointer(p), value, bytes));
}
CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  return result_of(cudaStreamCreateWithFlags(stream, flags));
}
CUresult cuStreamDestroy(CUstream stream) { return result_of(cudaStreamDestroy(stream)); }
CUresult cuStreamSynchronize(CUstream stream) { return result_of(cudaStreamSynchronize(stream)); }
CUresult cuStreamQuery(CUstream stream) { return result_of(cudaStreamQuery(stream)); }
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  return result_of(cudaStreamWaitEvent(stream, event, flags));
}
CUresult cuEventCreate(CUevent* event, unsigned flags) {
  return result_of(cudaEventCreateWithFlags(event, flags));
}
CUresult cuEventDestroy(CUevent event) { return result_of(cudaEventDestroy(event)); }
CUresult cuEventRecord(CUevent event, CUstream stream) { return result_of(cudaEventRecord(event, stream)); }
CUresult cuEventSynchronize(CUevent event) { return result_of(cudaEventSynchronize(event)); }
CUresult cuEventQuery(CUevent event) { return result_of(cudaEventQuery(event)); }
CUresult cuEventElapsedTime(float* ms, CUevent from, CUevent to) {
  return result_of(cudaEventElapsedTime(ms, from, to));
}
}
