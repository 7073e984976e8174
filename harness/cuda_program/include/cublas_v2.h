// cuBLAS on the host: levels 1 to 3 for the four types of numbers, products of narrow types, batches. What is not here ends
// the program where it is called (absent.h).
#pragma once

#include <library_types.h>

#include <cuComplex.h>
#include <klab_cuda/absent.h>
#if defined(__CUDACC__)
#include <klab_cuda/halves.h>
#else
#include "harness/simt/half.h"
#endif

#define CUBLAS_VER_MAJOR 12
#define CUBLAS_VERSION 120400
#define CUBLASAPI
#define CUBLASWINAPI

typedef enum {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_ARCH_MISMATCH = 8,
  CUBLAS_STATUS_MAPPING_ERROR = 11,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_INTERNAL_ERROR = 14,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
  CUBLAS_STATUS_LICENSE_ERROR = 16
} cublasStatus_t;
typedef enum {
  CUBLAS_OP_N = 0,
  CUBLAS_OP_T = 1,
  CUBLAS_OP_C = 2,
  CUBLAS_OP_HERMITAN = 2,
  CUBLAS_OP_CONJG = 3
} cublasOperation_t;
typedef enum {
  CUBLAS_FILL_MODE_LOWER = 0,
  CUBLAS_FILL_MODE_UPPER = 1,
  CUBLAS_FILL_MODE_FULL = 2
} cublasFillMode_t;
typedef enum { CUBLAS_DIAG_NON_UNIT = 0, CUBLAS_DIAG_UNIT = 1 } cublasDiagType_t;
typedef enum { CUBLAS_SIDE_LEFT = 0, CUBLAS_SIDE_RIGHT = 1 } cublasSideMode_t;
typedef enum { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 } cublasPointerMode_t;
typedef enum { CUBLAS_ATOMICS_NOT_ALLOWED = 0, CUBLAS_ATOMICS_ALLOWED = 1 } cublasAtomicsMode_t;
typedef enum {
  CUBLAS_GEMM_DFALT = -1,
  CUBLAS_GEMM_DEFAULT = -1,
  CUBLAS_GEMM_ALGO0 = 0,
  CUBLAS_GEMM_ALGO1,
  CUBLAS_GEMM_ALGO2,
  CUBLAS_GEMM_ALGO3,
  CUBLAS_GEMM_ALGO4,
  CUBLAS_GEMM_ALGO5,
  CUBLAS_GEMM_ALGO6,
  CUBLAS_GEMM_ALGO7,
  CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99,
  CUBLAS_GEMM_DFALT_TENSOR_OP = 99,
  CUBLAS_GEMM_ALGO0_TENSOR_OP = 100
} cublasGemmAlgo_t;
typedef enum {
  CUBLAS_DEFAULT_MATH = 0,
  CUBLAS_TENSOR_OP_MATH = 1,
  CUBLAS_PEDANTIC_MATH = 2,
  CUBLAS_TF32_TENSOR_OP_MATH = 3,
  CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16
} cublasMath_t;
typedef enum {
  CUBLAS_COMPUTE_16F = 64,
  CUBLAS_COMPUTE_16F_PEDANTIC = 65,
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_PEDANTIC = 69,
  CUBLAS_COMPUTE_64F = 70,
  CUBLAS_COMPUTE_64F_PEDANTIC = 71,
  CUBLAS_COMPUTE_32I = 72,
  CUBLAS_COMPUTE_32I_PEDANTIC = 73,
  CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_16BF = 75,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77
} cublasComputeType_t;
typedef cudaDataType cublasDataType_t;
typedef struct cublasContext* cublasHandle_t;
typedef cublasStatus_t cublasStatus;

extern "C" {
cublasStatus_t cublasCreate(cublasHandle_t* handle);
cublasStatus_t cublasDestroy(cublasHandle_t handle);
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t* stream);
cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode);
cublasStatus_t cublasGetPointerMode(cublasHandle_t handle, cublasPointerMode_t* mode);
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode);
const char* cublasGetStatusName(cublasStatus_t status);
const char* cublasGetStatusString(cublasStatus_t status);
cublasStatus_t cublasSetVector(int n, int bytes, const void* from, int from_step, void* to, int to_step);
cublasStatus_t cublasGetVector(int n, int bytes, const void* from, int from_step, void* to, int to_step);
cublasStatus_t cublasSetMatrix(int rows, int columns, int bytes, const void* from, int from_ld, void* to,
                               int to_ld);
cublasStatus_t cublasGetMatrix(int rows, int columns, int bytes, const void* from, int from_ld, void* to,
                               int to_ld);
cublasStatus_t cublasSetVectorAsync(int n, int bytes, const void* from, int from_step, void* to, int to_step,
                                    cudaStream_t stream);
cublasStatus_t cublasGetVectorAsync(int n, int bytes, const void* from, int from_step, void* to, int to_step,
                                    cudaStream_t stream);
cublasStatus_t cublasSetMatrixAsync(int rows, int columns, int bytes, const void* from, int from_ld, void* to,
                                    int to_ld, cudaStream_t stream);
cublasStatus_t cublasGetMatrixAsync(int rows, int columns, int bytes, const void* from, int from_ld, void* to,
                                    int to_ld, cudaStream_t stream);
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m,
                            int n, int k, const void* alpha, const void* a, cudaDataType a_type, int lda,
                            const void* b, cudaDataType b_type, int ldb, const void* beta, void* c,
                            cudaDataType c_type, int ldc, cublasComputeType_t compute, cublasGemmAlgo_t algo);
cublasStatus_t cublasGemmBatchedEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                                   int m, int n, int k, const void* alpha, const void* const a[],
                                   cudaDataType a_type, int lda, const void* const b[], cudaDataType b_type,
                                   int ldb, const void* beta, void* const c[], cudaDataType c_type, int ldc,
                                   int batch, cublasComputeType_t compute, cublasGemmAlgo_t algo);
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t op_a,
                                          cublasOperation_t op_b, int m, int n, int k, const void* alpha,
                                          const void* a, cudaDataType a_type, int lda, long long a_stride,
                                          const void* b, cudaDataType b_type, int ldb, long long b_stride,
                                          const void* beta, void* c, cudaDataType c_type, int ldc,
                                          long long c_stride, int batch, cublasComputeType_t compute,
                                          cublasGemmAlgo_t algo);
cublasStatus_t cublasSgemmEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m,
                             int n, int k, const float* alpha, const void* a, cudaDataType a_type, int lda,
                             const void* b, cudaDataType b_type, int ldb, const float* beta, void* c,
                             cudaDataType c_type, int ldc);
}
inline cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                                   int m, int n, int k, const void* alpha, const void* a, cudaDataType a_type,
                                   int lda, const void* b, cudaDataType b_type, int ldb, const void* beta,
                                   void* c, cudaDataType c_type, int ldc, cudaDataType compute,
                                   cublasGemmAlgo_t algo) {  // as before CUDA 11
  const cublasComputeType_t type = compute == CUDA_R_64F   ? CUBLAS_COMPUTE_64F
                                   : compute == CUDA_R_32I ? CUBLAS_COMPUTE_32I
                                   : compute == CUDA_R_16F ? CUBLAS_COMPUTE_16F
                                                           : CUBLAS_COMPUTE_32F;
  return cublasGemmEx(handle, op_a, op_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type,
                      ldc, type, algo);
}
inline cublasStatus_t cublasSetAtomicsMode(cublasHandle_t, cublasAtomicsMode_t) {
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSetWorkspace(cublasHandle_t, void*, size_t) { return CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasGetVersion(cublasHandle_t, int* version) {
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}

// For each type of numbers T, whose real numbers are R.
#define KLAB_CUBLAS_GEMM(X, T)                                                                          \
  cublasStatus_t cublas##X##gemm(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, \
                                 int m, int n, int k, const T* alpha, const T* a, int lda, const T* b,  \
                                 int ldb, const T* beta, T* c, int ldc);                                \
  cublasStatus_t cublas##X##gemmBatched(cublasHandle_t handle, cublasOperation_t op_a,                  \
                                        cublasOperation_t op_b, int m, int n, int k, const T* alpha,    \
                                        const T* const a[], int lda, const T* const b[], int ldb,       \
                                        const T* beta, T* const c[], int ldc, int batch);               \
  cublasStatus_t cublas##X##gemmStridedBatched(                                                         \
      cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,       \
      const T* alpha, const T* a, int lda, long long a_stride, const T* b, int ldb, long long b_stride, \
      const T* beta, T* c, int ldc, long long c_stride, int batch);
#define KLAB_CUBLAS_EACH(X, T, R)                                                                            \
  KLAB_CUBLAS_GEMM(X, T)                                                                                     \
  cublasStatus_t cublas##X##axpy(cublasHandle_t handle, int n, const T* alpha, const T* x, int x_step, T* y, \
                                 int y_step);                                                                \
  cublasStatus_t cublas##X##scal(cublasHandle_t handle, int n, const T* alpha, T* x, int x_step);            \
  cublasStatus_t cublas##X##copy(cublasHandle_t handle, int n, const T* x, int x_step, T* y, int y_step);    \
  cublasStatus_t cublas##X##swap(cublasHandle_t handle, int n, T* x, int x_step, T* y, int y_step);          \
  cublasStatus_t cublasI##X##amax_(cublasHandle_t handle, int n, const T* x, int x_step, int* result);       \
  cublasStatus_t cublasI##X##amin_(cublasHandle_t handle, int n, const T* x, int x_step, int* result);       \
  cublasStatus_t cublas##X##nrm2_(cublasHandle_t handle, int n, const T* x, int x_step, R* result);          \
  cublasStatus_t cublas##X##asum_(cublasHandle_t handle, int n, const T* x, int x_step, R* result);          \
  cublasStatus_t cublas##X##dot_(cublasHandle_t handle, int n, const T* x, int x_step, const T* y,           \
                                 int y_step, T* result, int conjugate);                                      \
  cublasStatus_t cublas##X##gemv(cublasHandle_t handle, cublasOperation_t op, int m, int n, const T* alpha,  \
                                 const T* a, int lda, const T* x, int x_step, const T* beta, T* y,           \
                                 int y_step);                                                                \
  cublasStatus_t cublas##X##ger_(cublasHandle_t handle, int m, int n, const T* alpha, const T* x,            \
                                 int x_step, const T* y, int y_step, T* a, int lda, int conjugate);          \
  cublasStatus_t cublas##X##symv(cublasHandle_t handle, cublasFillMode_t part, int n, const T* alpha,        \
                                 const T* a, int lda, const T* x, int x_step, const T* beta, T* y,           \
                                 int y_step);                                                                \
  cublasStatus_t cublas##X##trsv(cublasHandle_t handle, cublasFillMode_t part, cublasOperation_t op,         \
                                 cublasDiagType_t diagonal, int n, const T* a, int lda, T* x, int x_step);   \
  cublasStatus_t cublas##X##trmv(cublasHandle_t handle, cublasFillMode_t part, cublasOperation_t op,         \
                                 cublasDiagType_t diagonal, int n, const T* a, int lda, T* x, int x_step);   \
  cublasStatus_t cublas##X##symm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t part, int m, \
                                 int n, const T* alpha, const T* a, int lda, const T* b, int ldb,            \
                                 const T* beta, T* c, int ldc);                                              \
  cublasStatus_t cublas##X##syrk(cublasHandle_t handle, cublasFillMode_t part, cublasOperation_t op, int n,  \
                                 int k, const T* alpha, const T* a, int lda, const T* beta, T* c, int ldc);  \
  cublasStatus_t cublas##X##trsm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t part,        \
                                 cublasOperation_t op, cublasDiagType_t diagonal, int m, int n,              \
                                 const T* alpha, const T* a, int lda, T* b, int ldb);                        \
  cublasStatus_t cublas##X##trmm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t part,        \
                                 cublasOperation_t op, cublasDiagType_t diagonal, int m, int n,              \
                                 const T* alpha, const T* a, int lda, const T* b, int ldb, T* c, int ldc);   \
  cublasStatus_t cublas##X##geam(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,      \
                                 int m, int n, const T* alpha, const T* a, int lda, const T* beta,           \
                                 const T* b, int ldb, T* c, int ldc);                                        \
  cublasStatus_t cublas##X##dgmm(cublasHandle_t handle, cublasSideMode_t side, int m, int n, const T* a,     \
                                 int lda, const T* x, int x_step, T* c, int ldc);
extern "C" {
KLAB_CUBLAS_EACH(S, float, float)
KLAB_CUBLAS_EACH(D, double, double)
KLAB_CUBLAS_EACH(C, cuComplex, float)
KLAB_CUBLAS_EACH(Z, cuDoubleComplex, double)
KLAB_CUBLAS_GEMM(H, __half)
}

// Batches of small matrices, whose addresses lie in device memory; pivots and `info` do, too, but for getrsBatched, whose `info` is the
// host's.
#define KLAB_CUBLAS_BATCHED(X, T, R)                                                                         \
  cublasStatus_t cublas##X##getrfBatched(cublasHandle_t handle, int n, T* const a[], int lda, int* pivots,   \
                                         int* info, int batch);                                              \
  cublasStatus_t cublas##X##getriBatched(cublasHandle_t handle, int n, const T* const a[], int lda,          \
                                         const int* pivots, T* const c[], int ldc, int* info, int batch);    \
  cublasStatus_t cublas##X##getrsBatched(cublasHandle_t handle, cublasOperation_t op, int n, int columns,    \
                                         const T* const a[], int lda, const int* pivots, T* const b[],       \
                                         int ldb, int* info, int batch);                                     \
  cublasStatus_t cublas##X##matinvBatched(cublasHandle_t handle, int n, const T* const a[], int lda,         \
                                          T* const inverse[], int ld_inverse, int* info, int batch);         \
  cublasStatus_t cublas##X##trsmBatched(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t part, \
                                        cublasOperation_t op, cublasDiagType_t diagonal, int m, int n,       \
                                        const T* alpha, const T* const a[], int lda, T* const b[], int ldb,  \
                                        int batch);                                                          \
  cublasStatus_t cublas##X##gemvBatched(cublasHandle_t handle, cublasOperation_t op, int m, int n,           \
                                        const T* alpha, const T* const a[], int lda, const T* const x[],     \
                                        int x_step, const T* beta, T* const y[], int y_step, int batch);     \
  cublasStatus_t cublas##X##gemvStridedBatched(cublasHandle_t handle, cublasOperation_t op, int m, int n,    \
                                               const T* alpha, const T* a, int lda, long long a_stride,      \
                                               const T* x, int x_step, long long x_stride, const T* beta,    \
                                               T* y, int y_step, long long y_stride, int batch);             \
  cublasStatus_t cublas##X##syr(cublasHandle_t handle, cublasFillMode_t part, int n, const T* alpha,         \
                                const T* x, int x_step, T* a, int lda);                                      \
  cublasStatus_t cublas##X##rot(cublasHandle_t handle, int n, T* x, int x_step, T* y, int y_step,            \
                                const R* cosine, const T* sine);                                             \
  cublasStatus_t cublas##X##rotg(cublasHandle_t handle, T* a, T* b, R* cosine, T* sine);
extern "C" {
KLAB_CUBLAS_BATCHED(S, float, float)
KLAB_CUBLAS_BATCHED(D, double, double)
KLAB_CUBLAS_BATCHED(C, cuComplex, float)
KLAB_CUBLAS_BATCHED(Z, cuDoubleComplex, double)
}

// Names that differ between the types.
#define cublasIsamax cublasISamax_
#define cublasIdamax cublasIDamax_
#define cublasIcamax cublasICamax_
#define cublasIzamax cublasIZamax_
#define cublasIsamin cublasISamin_
#define cublasIdamin cublasIDamin_
#define cublasIcamin cublasICamin_
#define cublasIzamin cublasIZamin_
#define cublasSnrm2 cublasSnrm2_
#define cublasDnrm2 cublasDnrm2_
#define cublasScnrm2 cublasCnrm2_
#define cublasDznrm2 cublasZnrm2_
#define cublasSasum cublasSasum_
#define cublasDasum cublasDasum_
#define cublasScasum cublasCasum_
#define cublasDzasum cublasZasum_
#define KLAB_CUBLAS_NAMES(X, u, c, T)                                                                       \
  inline cublasStatus_t cublas##X##dot##u(cublasHandle_t handle, int n, const T* x, int x_step, const T* y, \
                                          int y_step, T* result) {                                          \
    return cublas##X##dot_(handle, n, x, x_step, y, y_step, result, c);                                     \
  }                                                                                                         \
  inline cublasStatus_t cublas##X##ger##u(cublasHandle_t handle, int m, int n, const T* alpha, const T* x,  \
                                          int x_step, const T* y, int y_step, T* a, int lda) {              \
    return cublas##X##ger_(handle, m, n, alpha, x, x_step, y, y_step, a, lda, c);                           \
  }
KLAB_CUBLAS_NAMES(S, , 0, float)
KLAB_CUBLAS_NAMES(D, , 0, double)
KLAB_CUBLAS_NAMES(C, u, 0, cuComplex)
KLAB_CUBLAS_NAMES(C, c, 1, cuComplex)
KLAB_CUBLAS_NAMES(Z, u, 0, cuDoubleComplex)
KLAB_CUBLAS_NAMES(Z, c, 1, cuDoubleComplex)
#define cublasCreate_v2 cublasCreate
#define cublasDestroy_v2 cublasDestroy
#define cublasSetStream_v2 cublasSetStream
#define cublasSgemm_v2 cublasSgemm
#define cublasDgemm_v2 cublasDgemm
#define cublasSgemv_v2 cublasSgemv
#define cublasDgemv_v2 cublasDgemv
#define cublasSdot_v2 cublasSdot
#define cublasDdot_v2 cublasDdot
#define cublasSaxpy_v2 cublasSaxpy
#define cublasDaxpy_v2 cublasDaxpy
#define cublasSscal_v2 cublasSscal
#define cublasDscal_v2 cublasDscal

#define KLAB_BLAS(name) KLAB_ABSENT(cublasStatus_t, "cuBLAS", name)
#define KLAB_BLAS_ABSENT(rest) \
  KLAB_BLAS(cublasS##rest)     \
  KLAB_BLAS(cublasD##rest)     \
  KLAB_BLAS(cublasC##rest)     \
  KLAB_BLAS(cublasZ##rest)
KLAB_BLAS_ABSENT(gbmv)
KLAB_BLAS_ABSENT(syr2k)
KLAB_BLAS_ABSENT(syr2)
KLAB_BLAS_ABSENT(geqrfBatched)
KLAB_BLAS_ABSENT(gelsBatched)
KLAB_BLAS(cublasAxpyEx)
KLAB_BLAS(cublasDotEx)
KLAB_BLAS(cublasNrm2Ex)
KLAB_BLAS(cublasScalEx)
KLAB_BLAS(cublasCsscal)
KLAB_BLAS(cublasZdscal)
KLAB_BLAS(cublasCherk)
KLAB_BLAS(cublasZherk)
KLAB_BLAS(cublasChemm)
KLAB_BLAS(cublasZhemm)
KLAB_BLAS(cublasChemv)
KLAB_BLAS(cublasZhemv)
