// What the program asks of a GPU, beside running kernels: plain functions that it looks up by name in the module of
// variants compiled by nvcc. Each returns what went wrong, as CUDA says it, or a null pointer.
#include <cstdio>

#include "kernels/common/cuda_device.h"

namespace {

char message[512];
cudaDeviceProp properties;
char driver[32];
cudaEvent_t first, last;

const char* said(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return nullptr;
  std::snprintf(message, sizeof message, "%s: %s in %s", cudaGetErrorName(error), cudaGetErrorString(error),
                call);
  return message;
}

}  // namespace

#define KLAB_EXPORT extern "C" __attribute__((visibility("default")))
#define KLAB_TRY(call) \
  if (const char* error = said((call), #call); error != nullptr) return error

KLAB_EXPORT const char* klab_gpu_open() {
  int count = 0, version = 0;
  KLAB_TRY(cudaGetDeviceCount(&count));
  if (count == 0) return "no CUDA device";
  KLAB_TRY(cudaGetDeviceProperties(&properties, 0));
  KLAB_TRY(cudaDriverGetVersion(&version));
  std::snprintf(driver, sizeof driver, "%d.%d", version / 1000, version % 1000 / 10);
  KLAB_TRY(cudaSetDevice(0));
  KLAB_TRY(cudaEventCreate(&first));
  return said(cudaEventCreate(&last), "cudaEventCreate");
}

KLAB_EXPORT const char* klab_gpu_text(int which) { return which == 0 ? properties.name : driver; }

KLAB_EXPORT size_t klab_gpu_number(int which) {
  switch (which) {
    case 0:
      return size_t(10 * properties.major + properties.minor);
    case 1:
      return size_t(properties.multiProcessorCount);
    case 2:
      return properties.totalGlobalMem;
    default:
      return size_t(properties.l2CacheSize);
  }
}

KLAB_EXPORT const char* klab_gpu_alloc(void** p, size_t bytes) {
  return said(cudaMalloc(p, bytes), "cudaMalloc");
}
KLAB_EXPORT const char* klab_gpu_free(void* p) { return said(cudaFree(p), "cudaFree"); }

KLAB_EXPORT const char* klab_gpu_alloc_pinned(void** p, size_t bytes) {
  return said(cudaMallocHost(p, bytes), "cudaMallocHost");
}
KLAB_EXPORT const char* klab_gpu_free_pinned(void* p) { return said(cudaFreeHost(p), "cudaFreeHost"); }

KLAB_EXPORT const char* klab_gpu_copy(void* to, const void* from, size_t bytes, int back) {
  const auto kind = back != 0 ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice;
  KLAB_TRY(cudaMemcpyAsync(to, from, bytes, kind, klab::cuda::stream()));
  return said(cudaStreamSynchronize(klab::cuda::stream()), "cudaMemcpy");
}

KLAB_EXPORT const char* klab_gpu_fill(void* p, int byte, size_t bytes) {
  return said(cudaMemsetAsync(p, byte, bytes, klab::cuda::stream()), "cudaMemsetAsync");
}

KLAB_EXPORT const char* klab_gpu_synchronize() {
  return said(cudaStreamSynchronize(klab::cuda::stream()), "the kernel");
}

KLAB_EXPORT const char* klab_gpu_begin() {
  return said(cudaEventRecord(first, klab::cuda::stream()), "cudaEventRecord");
}

KLAB_EXPORT const char* klab_gpu_end(double* seconds) {
  float milliseconds = 0;
  KLAB_TRY(cudaEventRecord(last, klab::cuda::stream()));
  KLAB_TRY(cudaEventSynchronize(last));
  KLAB_TRY(cudaEventElapsedTime(&milliseconds, first, last));
  *seconds = double(milliseconds) * 1e-3;
  return nullptr;
}
