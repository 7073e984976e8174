// right
// The driver's types and results as other headers bring them along, the calls that the runtime has too, and names of all
// errors, also of those that later versions of CUDA have dropped.
#include <cudaProfiler.h>

#include <cstdio>
#include <cstring>

static_assert(CUDA_SUCCESS == 0 && CUDA_ERROR_NOT_FOUND == 500 && CUDA_ERROR_UNKNOWN == 999, "numbers");
static_assert(sizeof(CUdeviceptr) == sizeof(void*) && sizeof(CUuuid) == 16, "sizes");
static_assert(cudaErrorApiFailureBase == 10000 && cudaErrorDeviceUninitilialized == 201, "deprecated names");
static_assert(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT == int(cudaDevAttrMultiProcessorCount), "attributes");
struct Holder {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUarray array = nullptr;
};

__global__ void twice(float* x) { x[threadIdx.x] *= 2; }

int failures = 0;
void good(const char* what, bool is) {
  if (!is) std::printf("%s is wrong\n", what), ++failures;
}
#define OK(call) good(#call, (call) == CUDA_SUCCESS)

int main() {
  CUdevice device;
  CUcontext context;
  char name[64];
  int count = 0, major = 0, processors = 0;
  OK(cuInit(0)), OK(cuDeviceGetCount(&count)), OK(cuDeviceGet(&device, 0)),
      OK(cuDeviceGetName(name, 64, device));
  OK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
  OK(cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
  OK(cuCtxCreate(&context, CU_CTX_SCHED_AUTO, device));
  good("the device", count == 1 && major >= 7 && processors > 0 && std::strlen(name) > 0);
  good("no device", cuDeviceGet(&device, 3) == CUDA_ERROR_INVALID_DEVICE);

  CUdeviceptr p;
  CUstream stream;
  CUevent event;
  float x[32], y[32];
  for (int k = 0; k < 32; ++k) x[k] = float(k);
  OK(cuMemAlloc(&p, sizeof x)), OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING)),
      OK(cuEventCreate(&event, 0));
  OK(cuMemcpyHtoD(p, x, sizeof x));
  twice<<<1, 32, 0, stream>>>(reinterpret_cast<float*>(p));
  OK(cuEventRecord(event, stream)), OK(cuEventSynchronize(event)), OK(cuStreamSynchronize(stream));
  OK(cuMemcpyDtoH(y, p, sizeof y));
  for (int k = 0; k < 32; ++k) good("a number", y[k] == 2 * x[k]);
  OK(cuEventDestroy(event)), OK(cuStreamDestroy(stream)), OK(cuMemFree(p)), OK(cuCtxSynchronize());
  good("no memory", cuMemAlloc(&p, 0) == CUDA_ERROR_INVALID_VALUE);

  const char* text = nullptr;
  OK(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
  good("its name", std::strcmp(text, "CUDA_ERROR_ILLEGAL_ADDRESS") == 0);
  good("no name", cuGetErrorName(CUresult(12345), &text) == CUDA_ERROR_INVALID_VALUE);
  for (cudaError_t e : {cudaErrorApiFailureBase, cudaErrorMixedDeviceExecution, cudaErrorStubLibrary,
                        cudaErrorProfilerDisabled, cudaErrorPriorLaunchFailure, cudaErrorECCUncorrectable,
                        cudaErrorMpsServerNotReady, cudaErrorTimeout})
    good("a name of the runtime", std::strncmp(cudaGetErrorName(e), "cudaError", 9) == 0 &&
                                      std::strcmp(cudaGetErrorString(e), "unrecognized error code") != 0);
  OK(cuCtxDestroy(context));
  return failures != 0;
}
