// cublasLt's products of bytes, for the variants that compare with them. Loaded when first asked for, as cublas.h is.
//
//   cublas_lt::supported(host)                    "" or the reason why not
//   cublas_lt::multiply(m, n, k, a, turned, c)    C[m,n] = A[m,k] Bt[n,k]^T, row-major device memory, on cuda::stream():
//                                                 uint8_t are e4m3s with sums of float, int8_t are integers with sums of int32_t
//
// It multiplies bytes only where both factors lie along k, and where sizes are multiples of 16.
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "kernels/common/cuda.h"

#if !KLAB_SIMT && __has_include(<cublasLt.h>)
#define KLAB_HAVE_CUBLAS_LT 1
#include <cublasLt.h>

#include "kernels/common/vendor/library.h"
#else
#define KLAB_HAVE_CUBLAS_LT 0
#endif

namespace klab::cublas_lt {

#if KLAB_HAVE_CUBLAS_LT

namespace detail {

constexpr size_t kWorkspace = 32 << 20;  // bytes, as NVIDIA recommends for Hopper

struct Library {
  std::string why_not;
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) layout = nullptr;
  decltype(&cublasLtMatmulDescCreate) description = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) set = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) preference = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) prefer = nullptr;
  cublasLtHandle_t handle = nullptr;
};

inline Library load() {
  Library library;
  VendorLibrary vendor("libcublasLt", CUBLAS_VER_MAJOR);
  vendor.find("cublasLtCreate", library.create);
  vendor.find("cublasLtMatmul", library.matmul);
  vendor.find("cublasLtMatmulAlgoGetHeuristic", library.heuristic);
  vendor.find("cublasLtMatrixLayoutCreate", library.layout);
  vendor.find("cublasLtMatmulDescCreate", library.description);
  vendor.find("cublasLtMatmulDescSetAttribute", library.set);
  vendor.find("cublasLtMatmulPreferenceCreate", library.preference);
  vendor.find("cublasLtMatmulPreferenceSetAttribute", library.prefer);
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

/// The formats of a product.
struct Formats {
  cudaDataType_t factor, sum;
  cublasComputeType_t compute;
  const char* name;
};
template <class Factor>
constexpr Formats formats_of() {
  if constexpr (std::is_same_v<Factor, uint8_t>)
    return {CUDA_R_8F_E4M3, CUDA_R_32F, CUBLAS_COMPUTE_32F, "e4m3s"};
  else
    return {CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, "int8s"};
}

/// How a product of that size is made. Asking takes longer than a small product, so the last answer is kept; a run times one size.
struct Way {
  std::array<int64_t, 3> size = {};
  cublasLtMatmulDesc_t product = nullptr;
  cublasLtMatrixLayout_t turned = nullptr, a = nullptr, c = nullptr;
  cublasLtMatmulAlgo_t algorithm = {};
};

// cuBLAS has columns where we have rows: it makes C^T of n rows from Bt^T, which is stored as its own k by n, and A^T, k by m.
inline Way way_for(const Library& l, const Formats& f, int64_t m, int64_t n, int64_t k) {
  Way w;
  w.size = {m, n, k};
  const cublasOperation_t turn = CUBLAS_OP_T, leave = CUBLAS_OP_N;
  check(l.description(&w.product, f.compute, f.sum), "cublasLtMatmulDescCreate");
  check(l.set(w.product, CUBLASLT_MATMUL_DESC_TRANSA, &turn, sizeof turn), "cublasLtMatmulDescSetAttribute");
  check(l.set(w.product, CUBLASLT_MATMUL_DESC_TRANSB, &leave, sizeof leave),
        "cublasLtMatmulDescSetAttribute");
  check(l.layout(&w.turned, f.factor, uint64_t(k), uint64_t(n), k), "cublasLtMatrixLayoutCreate");
  check(l.layout(&w.a, f.factor, uint64_t(k), uint64_t(m), k), "cublasLtMatrixLayoutCreate");
  check(l.layout(&w.c, f.sum, uint64_t(n), uint64_t(m), n), "cublasLtMatrixLayoutCreate");
  cublasLtMatmulPreference_t preference = nullptr;
  check(l.preference(&preference), "cublasLtMatmulPreferenceCreate");
  check(l.prefer(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspace, sizeof kWorkspace),
        "cublasLtMatmulPreferenceSetAttribute");
  cublasLtMatmulHeuristicResult_t found = {};
  int count = 0;
  check(l.heuristic(l.handle, w.product, w.turned, w.a, w.c, w.c, preference, 1, &found, &count),
        "cublasLtMatmulAlgoGetHeuristic");
  if (count == 0)
    throw std::runtime_error(std::string("cublasLt has no algorithm for a product of ") + f.name + " of " +
                             std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k));
  w.algorithm = found.algo;
  return w;
}

}  // namespace detail

template <class Host>
std::string supported(const Host& host) {
  const std::string no = cuda::needs_gpu(host, 89);
  return no.empty() ? detail::library().why_not : no;
}

/// Sizes are multiples of 16, 16 or more. Throws std::runtime_error with the status of a call that fails.
template <class Factor, class Sum>
void multiply(int64_t m, int64_t n, int64_t k, const Factor* a, const Factor* turned, Sum* c) {
  constexpr detail::Formats formats = detail::formats_of<Factor>();
  detail::Library& library = detail::library();
  if (!library.why_not.empty()) throw std::runtime_error(library.why_not);
  if (library.handle == nullptr) detail::check(library.create(&library.handle), "cublasLtCreate");
  static detail::Way way;
  if (way.size != std::array{m, n, k}) way = detail::way_for(library, formats, m, n, k);
  const Sum one = 1, zero = 0;
  cuda::Scratch workspace(detail::kWorkspace);
  detail::check(
      library.matmul(library.handle, way.product, &one, turned, way.turned, a, way.a, &zero, c, way.c, c,
                     way.c, &way.algorithm, workspace.as<void>(), detail::kWorkspace, cuda::stream()),
      "cublasLtMatmul");
}

#else

template <class Host>
std::string supported(const Host& host) {
  const std::string no = cuda::needs_gpu(host, 89);
  return no.empty() ? "cublasLt's headers were not found when klab was built" : no;
}

template <class Factor, class Sum>
void multiply(int64_t, int64_t, int64_t, const Factor*, const Factor*, Sum*) {
  throw std::logic_error("cublasLt runs on a GPU only");
}

#endif

}  // namespace klab::cublas_lt
