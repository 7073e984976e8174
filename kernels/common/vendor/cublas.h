// cuBLAS for the variants that compare with it. It is loaded when first asked for: the library is hundreds of
// megabytes, and where it is missing only these variants are.
//
//   cublas::supported(host)                    "" or the reason why not
//   cublas::multiply(how, m, n, k, a, b, c)    C[m,n] = A[m,k] B[k,n], row-major device memory, on cuda::stream()
//
// Two Hows have factors of their own type: bf16_stored has bf16 factors and float sums, int8 has bytes with
// signs and sums of 32-bit integers, for which n and k are multiples of 4.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "kernels/common/cuda.h"

#if !KLAB_SIMT && __has_include(<cublas_v2.h>)
#define KLAB_HAVE_CUBLAS 1
#include <cublas_v2.h>

#include "kernels/common/vendor/library.h"
#else
#define KLAB_HAVE_CUBLAS 0
#endif

namespace klab::cublas {

enum class How {
  plain,  // float multiply-adds
  bf16,   // factors rounded to bf16 for the tensor cores, sums in float
  bf16_stored,
  int8,
};

#if KLAB_HAVE_CUBLAS

namespace detail {

// cublas_v2.h overloads the name, so decltype cannot ask it.
using Gemm = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int m, int n, int k,
                                const void* alpha, const void* a, cudaDataType a_type, int a_stride,
                                const void* b, cudaDataType b_type, int b_stride, const void* beta, void* c,
                                cudaDataType c_type, int c_stride, cublasComputeType_t, cublasGemmAlgo_t);

struct Library {
  std::string why_not;
  decltype(&cublasCreate_v2) create = nullptr;
  decltype(&cublasSetStream_v2) set_stream = nullptr;
  Gemm gemm = nullptr;
  cublasHandle_t handle = nullptr;
};

inline Library load() {
  Library library;
  VendorLibrary vendor("libcublas", CUBLAS_VER_MAJOR);
  vendor.find("cublasCreate_v2", library.create);
  vendor.find("cublasSetStream_v2", library.set_stream);
  vendor.find("cublasGemmEx", library.gemm);
  library.why_not = vendor.why_not();
  return library;
}

inline Library& library() {
  static Library one = load();
  return one;
}

inline void check(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(std::string(call) + " failed with status " + std::to_string(int(status)));
}

}  // namespace detail

template <class Host>
std::string supported(const Host& host, int capability = 50) {
  const std::string no = cuda::needs_gpu(host, capability);
  return no.empty() ? detail::library().why_not : no;
}

/// Sizes are 1 or more. Throws std::runtime_error with the status of a call that fails.
inline void multiply(How how, int64_t m, int64_t n, int64_t k, const void* a, const void* b, void* c) {
  detail::Library& library = detail::library();
  if (!library.why_not.empty()) throw std::runtime_error(library.why_not);
  if (library.handle == nullptr) {
    detail::check(library.create(&library.handle), "cublasCreate");
    detail::check(library.set_stream(library.handle, cuda::stream()), "cublasSetStream");
  }
  // cuBLAS has columns where we have rows: its B A is our A B.
  const float one = 1, zero = 0;
  const int whole_one = 1, whole_zero = 0;
  const bool whole = how == How::int8;
  const cudaDataType from = whole ? CUDA_R_8I : how == How::bf16_stored ? CUDA_R_16BF : CUDA_R_32F;
  const cudaDataType to = whole ? CUDA_R_32I : CUDA_R_32F;
  const cublasComputeType_t compute = whole              ? CUBLAS_COMPUTE_32I
                                      : how == How::bf16 ? CUBLAS_COMPUTE_32F_FAST_16BF
                                                         : CUBLAS_COMPUTE_32F;
  detail::check(library.gemm(library.handle, CUBLAS_OP_N, CUBLAS_OP_N, int(n), int(m), int(k),
                             whole ? static_cast<const void*>(&whole_one) : &one, b, from, int(n), a, from,
                             int(k), whole ? static_cast<const void*>(&whole_zero) : &zero, c, to, int(n),
                             compute, CUBLAS_GEMM_DEFAULT),
                "cublasGemmEx");
}

#else

template <class Host>
std::string supported(const Host& host, int capability = 50) {
  const std::string no = cuda::needs_gpu(host, capability);
  return no.empty() ? "cuBLAS's headers were not found when klab was built" : no;
}

inline void multiply(How, int64_t, int64_t, int64_t, const void*, const void*, void*) {
  throw std::logic_error("cuBLAS runs on a GPU only");
}

#endif

}  // namespace klab::cublas
