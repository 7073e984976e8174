// Tensor maps of programs, and the driver's entry point by which they find cuTensorMapEncodeTiled (CUDA Driver API, "Tensor Map
// Object Management"; CUDA Runtime API, "Driver Entry Point Access").
#include "harness/simt/tensor_map.h"

#include <cstring>

#include "harness/cuda_program/state.h"
#include "klab_cuda/driver.h"

extern "C" {

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                                const cuuint32_t* steps, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                                CUtensorMapFloatOOBfill fill) {
  const std::string rule = klab::simt::encode_tiled(
      map, {type, rank, address, sizes, strides, box, steps, interleave, swizzle, fill});
  if (rule.empty()) return CUDA_SUCCESS;
  klab::program::add_host_finding(klab::simt::Kind::failed_call, "cuTensorMapEncodeTiled: " + rule,
                                  __builtin_return_address(0));
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorName(CUresult error, const char** name) {
  *name = error == CUDA_SUCCESS               ? "CUDA_SUCCESS"
          : error == CUDA_ERROR_INVALID_VALUE ? "CUDA_ERROR_INVALID_VALUE"
                                              : "CUDA_ERROR_UNKNOWN";
  return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = error == CUDA_SUCCESS               ? "no error"
          : error == CUDA_ERROR_INVALID_VALUE ? "invalid argument"
                                              : "unknown error";
  return CUDA_SUCCESS;
}

CUresult cuInit(unsigned) { return CUDA_SUCCESS; }

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned,
                                             unsigned long long, cudaDriverEntryPointQueryResult* result) {
  const bool found = std::strcmp(symbol, "cuTensorMapEncodeTiled") == 0;
  *function = found ? reinterpret_cast<void*>(&cuTensorMapEncodeTiled) : nullptr;
  if (result != nullptr) *result = found ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* result) {
  return cudaGetDriverEntryPointByVersion(symbol, function, CUDART_VERSION, flags, result);
}
}
