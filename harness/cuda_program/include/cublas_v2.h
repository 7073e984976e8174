// cuBLAS: its types, and what manages a handle. Its algorithms are not on the host (absent.h).
#pragma once

#include <library_types.h>

#include <cuComplex.h>
#include <klab_cuda/absent.h>
#include <klab_cuda/halves.h>

#define CUBLAS_VER_MAJOR 12
#define CUBLAS_VERSION 120400

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
typedef enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2, CUBLAS_OP_CONJG = 3 } cublasOperation_t;
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
  CUBLAS_GEMM_ALGO1 = 1,
  CUBLAS_GEMM_ALGO2 = 2,
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
  CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_16BF = 75,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77
} cublasComputeType_t;
typedef cudaDataType cublasDataType_t;
typedef struct cublasContext* cublasHandle_t;
typedef cublasStatus_t cublasStatus;

// A handle does nothing by itself, and programs make one that they do not use.
inline cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  static char one;
  *handle = reinterpret_cast<cublasHandle_t>(&one);
  return CUBLAS_STATUS_SUCCESS;
}
#define cublasCreate_v2 cublasCreate
inline cublasStatus_t cublasDestroy(cublasHandle_t) { return CUBLAS_STATUS_SUCCESS; }
#define cublasDestroy_v2 cublasDestroy
inline cublasStatus_t cublasSetStream(cublasHandle_t, cudaStream_t) { return CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) { return CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasSetPointerMode(cublasHandle_t, cublasPointerMode_t) {
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSetAtomicsMode(cublasHandle_t, cublasAtomicsMode_t) {
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSetWorkspace(cublasHandle_t, void*, size_t) { return CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasGetVersion(cublasHandle_t, int* version) {
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}
inline const char* cublasGetStatusName(cublasStatus_t s) {
  return s == CUBLAS_STATUS_SUCCESS ? "CUBLAS_STATUS_SUCCESS" : "CUBLAS_STATUS_NOT_SUPPORTED";
}
inline const char* cublasGetStatusString(cublasStatus_t s) {
  return s == CUBLAS_STATUS_SUCCESS ? "success" : "the requested functionality is not supported";
}

#define KLAB_BLAS(name) KLAB_ABSENT(cublasStatus_t, "cuBLAS", name)
#define KLAB_BLAS_EACH(rest) \
  KLAB_BLAS(cublasS##rest)   \
  KLAB_BLAS(cublasD##rest)   \
  KLAB_BLAS(cublasC##rest)   \
  KLAB_BLAS(cublasZ##rest)
KLAB_BLAS_EACH(gemm)
KLAB_BLAS_EACH(gemmBatched)
KLAB_BLAS_EACH(gemmStridedBatched)
KLAB_BLAS_EACH(gemv)
KLAB_BLAS_EACH(gemvBatched)
KLAB_BLAS_EACH(gemvStridedBatched)
KLAB_BLAS_EACH(gbmv)
KLAB_BLAS_EACH(axpy)
KLAB_BLAS_EACH(scal)
KLAB_BLAS_EACH(copy)
KLAB_BLAS_EACH(swap)
KLAB_BLAS_EACH(rot)
KLAB_BLAS_EACH(rotg)
KLAB_BLAS_EACH(trsm)
KLAB_BLAS_EACH(trsmBatched)
KLAB_BLAS_EACH(trmm)
KLAB_BLAS_EACH(trsv)
KLAB_BLAS_EACH(trmv)
KLAB_BLAS_EACH(symm)
KLAB_BLAS_EACH(symv)
KLAB_BLAS_EACH(syrk)
KLAB_BLAS_EACH(syr2k)
KLAB_BLAS_EACH(syr)
KLAB_BLAS_EACH(geam)
KLAB_BLAS_EACH(dgmm)
KLAB_BLAS_EACH(getrfBatched)
KLAB_BLAS_EACH(getriBatched)
KLAB_BLAS_EACH(getrsBatched)
KLAB_BLAS_EACH(geqrfBatched)
KLAB_BLAS_EACH(gelsBatched)
KLAB_BLAS_EACH(matinvBatched)
KLAB_BLAS(cublasSdot)
KLAB_BLAS(cublasDdot)
KLAB_BLAS(cublasCdotu)
KLAB_BLAS(cublasCdotc)
KLAB_BLAS(cublasZdotu)
KLAB_BLAS(cublasZdotc)
KLAB_BLAS(cublasSnrm2)
KLAB_BLAS(cublasDnrm2)
KLAB_BLAS(cublasScnrm2)
KLAB_BLAS(cublasDznrm2)
KLAB_BLAS(cublasSasum)
KLAB_BLAS(cublasDasum)
KLAB_BLAS(cublasIsamax)
KLAB_BLAS(cublasIdamax)
KLAB_BLAS(cublasIsamin)
KLAB_BLAS(cublasIdamin)
KLAB_BLAS(cublasSger)
KLAB_BLAS(cublasDger)
KLAB_BLAS(cublasHgemm)
KLAB_BLAS(cublasHgemmBatched)
KLAB_BLAS(cublasHgemmStridedBatched)
KLAB_BLAS(cublasSgemmEx)
KLAB_BLAS(cublasGemmEx)
KLAB_BLAS(cublasGemmBatchedEx)
KLAB_BLAS(cublasGemmStridedBatchedEx)
KLAB_BLAS(cublasAxpyEx)
KLAB_BLAS(cublasDotEx)
KLAB_BLAS(cublasNrm2Ex)
KLAB_BLAS(cublasScalEx)
KLAB_BLAS(cublasCherk)
KLAB_BLAS(cublasZherk)
KLAB_BLAS(cublasChemm)
KLAB_BLAS(cublasZhemm)
KLAB_BLAS(cublasSetVector)
KLAB_BLAS(cublasGetVector)
KLAB_BLAS(cublasSetMatrix)
KLAB_BLAS(cublasGetMatrix)
KLAB_BLAS(cublasSetVectorAsync)
KLAB_BLAS(cublasGetVectorAsync)
KLAB_BLAS(cublasSetMatrixAsync)
KLAB_BLAS(cublasGetMatrixAsync)
KLAB_BLAS(cublasGetStream)
KLAB_BLAS(cublasGetMathMode)
KLAB_BLAS(cublasGetPointerMode)
