// GPU services of the program other than running kernels: plain functions that it looks up by name in the
// module of variants compiled by nvcc. Each returns CUDA's error message, or a null pointer.
#include <cstdio>
#include <vector>

#include "kernels/common/cuda_device.h"

// Under a name that a profiler's list of kernels shows as it is.
extern "C" __global__ void klab_variant_begins() {}

namespace {

char message[512];
cudaDeviceProp properties;
char driver[32];
cudaEvent_t first, last;
char versions[160];
std::vector<cudaEvent_t> marks;  // made when first needed, and kept
size_t marked = 0;               // of them, in use
cudaEvent_t given, sent;         // ahead of a load in the step's stream, behind the loads in theirs
cudaEvent_t half_sent[2];        // behind the last copy from each half of the room for loads

const char* said(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return nullptr;
  cudaGetLastError();  // else the next launch would report it
  std::snprintf(message, sizeof message, "%s: %s in %s", cudaGetErrorName(error), cudaGetErrorString(error),
                call);
  return message;
}

/// Opens the stream that pictures are loaded on, separate from klab::cuda::stream(), with its events, when
/// first needed. Returns a null pointer or the error.
cudaStream_t loading = nullptr;
const char* open_loading() {
  if (loading != nullptr) return nullptr;
  for (cudaEvent_t* event : {&given, &sent, &half_sent[0], &half_sent[1]})
    if (*event == nullptr)
      if (const char* error =
              said(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "cudaEventCreate");
          error != nullptr)
        return error;
  return said(cudaStreamCreateWithFlags(&loading, cudaStreamNonBlocking), "cudaStreamCreate");
}

}  // namespace

#define KLAB_EXPORT extern "C" __attribute__((visibility("default")))
#define KLAB_TRY(call) \
  if (const char* error = said((call), #call); error != nullptr) return error

KLAB_EXPORT const char* klab_gpu_open() {
  int count = 0, version = 0, runtime = 0;
  KLAB_TRY(cudaDriverGetVersion(&version));
  KLAB_TRY(cudaRuntimeGetVersion(&runtime));
  if (version / 1000 < runtime / 1000) {
    std::snprintf(versions, sizeof versions,
                  "the NVIDIA driver knows CUDA %d.%d and this build needs %d.0: update the driver",
                  version / 1000, version % 1000 / 10, runtime / 1000);
    return versions;
  }
  KLAB_TRY(cudaGetDeviceCount(&count));
  if (count == 0) return "no CUDA device";
  KLAB_TRY(cudaGetDeviceProperties(&properties, 0));
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
    case 3:
      return size_t(properties.l2CacheSize);
    default: {  // MHz
      int kilohertz = 0;
      cudaDeviceGetAttribute(&kilohertz, which == 4 ? cudaDevAttrClockRate : cudaDevAttrMemoryClockRate, 0);
      return size_t(kilohertz) / 1000;
    }
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

/// Returns at once; a page-locked source must not change until the stream is done.
KLAB_EXPORT const char* klab_gpu_upload_later(void* to, const void* from, size_t bytes) {
  return said(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, klab::cuda::stream()),
              "cudaMemcpyAsync");
}

/// Copies from page-locked memory on the loading stream, and returns at once. The copy starts after all work
/// that the step's stream has so far, which may still read the memory that is overwritten. The source must
/// not change until klab_gpu_half_wait() returns.
KLAB_EXPORT const char* klab_gpu_load(void* to, const void* from, size_t bytes) {
  if (const char* error = open_loading(); error != nullptr) return error;
  KLAB_TRY(cudaEventRecord(given, klab::cuda::stream()));
  KLAB_TRY(cudaStreamWaitEvent(loading, given, 0));
  return said(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, loading), "cudaMemcpyAsync of a load");
}

/// Makes later work on the step's stream start after all loads so far. The host does not wait.
KLAB_EXPORT const char* klab_gpu_loaded() {
  if (const char* error = open_loading(); error != nullptr) return error;
  KLAB_TRY(cudaEventRecord(sent, loading));
  return said(cudaStreamWaitEvent(klab::cuda::stream(), sent, 0), "cudaStreamWaitEvent");
}

/// Marks the loads so far as the last that read from that half, 0 or 1, of the room for loads.
KLAB_EXPORT const char* klab_gpu_half_sent(int half) {
  if (const char* error = open_loading(); error != nullptr) return error;
  return said(cudaEventRecord(half_sent[half], loading), "cudaEventRecord");
}

/// Returns when that half may be filled again; `waited` tells whether it had to wait.
KLAB_EXPORT const char* klab_gpu_half_wait(int half, int* waited) {
  *waited = 0;
  if (const char* error = open_loading(); error != nullptr) return error;
  const cudaError_t there = cudaEventQuery(half_sent[half]);
  if (there != cudaErrorNotReady) return said(there, "a load");
  cudaGetLastError();
  *waited = 1;
  return said(cudaEventSynchronize(half_sent[half]), "a load");
}

KLAB_EXPORT const char* klab_gpu_free_memory(size_t* bytes) {
  size_t all = 0;
  return said(cudaMemGetInfo(bytes, &all), "cudaMemGetInfo");
}

/// Starts recording: launches between begin and end go into a graph instead of being run.
KLAB_EXPORT const char* klab_gpu_capture_begin() {
  return said(cudaStreamBeginCapture(klab::cuda::stream(), cudaStreamCaptureModeThreadLocal),
              "cudaStreamBeginCapture");
}

KLAB_EXPORT const char* klab_gpu_capture_end(void** graph) {
  cudaGraph_t captured = nullptr;
  KLAB_TRY(cudaStreamEndCapture(klab::cuda::stream(), &captured));
  cudaGraphExec_t ready = nullptr;
  const cudaError_t error = cudaGraphInstantiate(&ready, captured, 0);
  cudaGraphDestroy(captured);
  *graph = ready;
  return said(error, "cudaGraphInstantiate");
}

KLAB_EXPORT const char* klab_gpu_graph_launch(void* graph) {
  return said(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), klab::cuda::stream()), "cudaGraphLaunch");
}

KLAB_EXPORT const char* klab_gpu_graph_free(void* graph) {
  return said(cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph)), "cudaGraphExecDestroy");
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

KLAB_EXPORT const char* klab_gpu_mark() {
  if (marked == marks.size()) {
    cudaEvent_t made = nullptr;
    KLAB_TRY(cudaEventCreate(&made));
    marks.push_back(made);
  }
  return said(cudaEventRecord(marks[marked++], klab::cuda::stream()), "cudaEventRecord");
}

/// Fills in the seconds between neighbors, one fewer than marks; `count` is how many there is room for, and then how many there are.
KLAB_EXPORT const char* klab_gpu_between_marks(double* seconds, size_t* count) {
  const size_t n = marked, room = *count;
  marked = *count = 0;
  if (n == 0) return nullptr;
  KLAB_TRY(cudaEventSynchronize(marks[n - 1]));
  for (size_t i = 0; i + 1 < n && i < room; ++i) {
    float milliseconds = 0;
    KLAB_TRY(cudaEventElapsedTime(&milliseconds, marks[i], marks[i + 1]));
    seconds[i] = double(milliseconds) * 1e-3;
    *count = i + 1;
  }
  return nullptr;
}

KLAB_EXPORT const char* klab_gpu_announce(int number) {
  klab_variant_begins<<<number, 1, 0, klab::cuda::stream()>>>();
  return said(cudaGetLastError(), "klab_variant_begins");
}
