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

CUresult cuTensorMapEncodeIm2col(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                 const cuuint64_t* sizes, const cuuint64_t* strides, const int* lower,
                                 const int* upper, cuuint32_t channels, cuuint32_t pixels,
                                 const cuuint32_t* steps, CUtensorMapInterleave interleave,
                                 CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                                 CUtensorMapFloatOOBfill fill) {
  const std::string rule = klab::simt::encode_im2col(
      map, {type, rank, address, sizes, strides, nullptr, steps, interleave, swizzle, fill},
      {lower, upper, channels, pixels});
  if (rule.empty()) return CUDA_SUCCESS;
  klab::program::add_host_finding(klab::simt::Kind::failed_call, "cuTensorMapEncodeIm2col: " + rule,
                                  __builtin_return_address(0));
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void* address) {
  const std::string rule = klab::simt::replace_address(map, address);
  if (rule.empty()) return CUDA_SUCCESS;
  klab::program::add_host_finding(klab::simt::Kind::failed_call, "cuTensorMapReplaceAddress: " + rule,
                                  __builtin_return_address(0));
  return CUDA_ERROR_INVALID_VALUE;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned,
                                             unsigned long long, cudaDriverEntryPointQueryResult* result) {
  const auto is = [symbol](const char* name) { return std::strcmp(symbol, name) == 0; };
  *function = is("cuTensorMapEncodeTiled")      ? reinterpret_cast<void*>(&cuTensorMapEncodeTiled)
              : is("cuTensorMapEncodeIm2col")   ? reinterpret_cast<void*>(&cuTensorMapEncodeIm2col)
              : is("cuTensorMapReplaceAddress") ? reinterpret_cast<void*>(&cuTensorMapReplaceAddress)
                                                : nullptr;
  const bool found = *function != nullptr;
  if (result != nullptr) *result = found ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* result) {
  return cudaGetDriverEntryPointByVersion(symbol, function, CUDART_VERSION, flags, result);
}
}
