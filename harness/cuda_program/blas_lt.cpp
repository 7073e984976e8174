// cuBLASLt on the host: products with layouts, batches and what follows them (bias, ReLU, GELU).
#include <cmath>
#include <cstring>

#include "harness/cuda_program/blas.h"

struct cublasLtContext {
  cublasContext blas;
};
struct cublasLtMatmulDescOpaque {
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType scale = CUDA_R_32F;
  int pointers = 0, op_a = CUBLAS_OP_N, op_b = CUBLAS_OP_N, epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  int bias_type = -1;
  void* bias = nullptr;
  void* aux = nullptr;
  int64_t aux_ld = 0;
};
struct cublasLtMatrixLayoutOpaque {
  cudaDataType type = CUDA_R_32F;
  uint64_t rows = 0, columns = 0;
  int64_t ld = 0, stride = 0;
  int order = CUBLASLT_ORDER_COL, batch = 1;
};
struct cublasLtMatmulPreferenceOpaque {
  size_t workspace = 0;
};

namespace klab::program::blas {
namespace {

cublasStatus_t set(void* field, size_t size, const void* from, size_t bytes) {
  if (field == nullptr || from == nullptr || bytes != size) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(field, from, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

Matrix matrix(const cublasLtMatrixLayoutOpaque& l, const void* p, int k) {
  const int64_t offset = k * l.stride * int64_t(size_of(l.type));
  return {static_cast<const char*>(p) + offset, l.type, int64_t(l.rows), int64_t(l.columns), l.ld,
          l.order == CUBLASLT_ORDER_ROW};
}

/// The approximation by tanh, as the library has it.
double gelu(double x) { return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); }
double gelu_slope(double x) {
  const double u = 0.7978845608028654 * (x + 0.044715 * x * x * x), t = std::tanh(u);
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);
}

struct Follows {
  bool bias, relu, gelu, writes_aux, gelu_slope;
};
/// Returns false for an epilogue that is not here.
bool known(int epilogue, Follows* f) {
  switch (epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT:
      *f = {};
      return true;
    case CUBLASLT_EPILOGUE_RELU:
      *f = {.relu = true};
      return true;
    case CUBLASLT_EPILOGUE_BIAS:
      *f = {.bias = true};
      return true;
    case CUBLASLT_EPILOGUE_RELU_BIAS:
      *f = {.bias = true, .relu = true};
      return true;
    case CUBLASLT_EPILOGUE_GELU:
      *f = {.gelu = true};
      return true;
    case CUBLASLT_EPILOGUE_GELU_BIAS:
      *f = {.bias = true, .gelu = true};
      return true;
    case CUBLASLT_EPILOGUE_GELU_AUX:
      *f = {.gelu = true, .writes_aux = true};
      return true;
    case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
      *f = {.bias = true, .gelu = true, .writes_aux = true};
      return true;
    case CUBLASLT_EPILOGUE_DGELU:
      *f = {.gelu_slope = true};
      return true;
    default:
      return false;
  }
}

void matmul(LibraryCall& call, const cublasLtMatmulDescOpaque& d, Follows f, const Matrix& a, const Matrix& b,
            const Matrix& c, const Matrix& to, std::complex<double> alpha, std::complex<double> beta,
            int batch) {
  const Precision precision = precision_of(d.compute, to.type);
  const Dense sum = product(read(call, a, cublasOperation_t(d.op_a), precision),
                            read(call, b, cublasOperation_t(d.op_b), precision));
  require(sum.rows == to.rows && sum.columns == to.columns);
  Dense old;
  if (beta != 0.0) old = read(call, c, CUBLAS_OP_N, precision);
  const cudaDataType bias_type = d.bias_type >= 0 ? cudaDataType(d.bias_type) : to.type;
  if (f.bias) call.reads(d.bias, size_t(to.rows) * size_of(bias_type));
  const int64_t aux_ld = d.aux_ld != 0 ? d.aux_ld : to.rows;
  char* aux = static_cast<char*>(d.aux) + size_t(batch * aux_ld * to.columns) * size_of(to.type);
  const size_t column = size_t(to.rows) * size_of(to.type), step = size_t(aux_ld) * size_of(to.type);
  if (f.writes_aux) call.writes_columns(aux, column, size_t(to.columns), step);
  if (f.gelu_slope) call.reads_columns(aux, column, size_t(to.columns), step);
  write(call, to, [&](int64_t i, int64_t j) {
    std::complex<double> x = alpha * sum.at(i, j);
    if (beta != 0.0) x += beta * old.at(i, j);
    if (f.bias) x += load(d.bias, size_t(i), bias_type);
    const auto at = size_t(i + j * aux_ld);
    if (f.writes_aux) store(aux, at, to.type, x);
    if (f.relu) x = std::max(0.0, x.real());
    if (f.gelu) x = gelu(x.real());
    if (f.gelu_slope) x *= gelu_slope(load(aux, at, to.type).real());
    return x;
  });
}

}  // namespace
}  // namespace klab::program::blas

using namespace klab::program;
using namespace klab::program::blas;

extern "C" {
cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *handle = new cublasLtContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  if (desc == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *desc = new cublasLtMatmulDescOpaque{.compute = compute, .scale = scale};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  delete desc;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t which,
                                              const void* from, size_t bytes) {
  if (d == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  switch (which) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE:
      return set(&d->compute, sizeof d->compute, from, bytes);
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE:
      return set(&d->scale, sizeof d->scale, from, bytes);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE:
      return set(&d->pointers, sizeof d->pointers, from, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return set(&d->op_a, sizeof d->op_a, from, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return set(&d->op_b, sizeof d->op_b, from, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return set(&d->epilogue, sizeof d->epilogue, from, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return set(&d->bias, sizeof d->bias, from, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
      return set(&d->aux, sizeof d->aux, from, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
      return set(&d->aux_ld, sizeof d->aux_ld, from, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      return set(&d->bias_type, sizeof d->bias_type, from, bytes);
  }
  return CUBLAS_STATUS_NOT_SUPPORTED;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t ld) {
  if (layout == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *layout = new cublasLtMatrixLayoutOpaque{.type = type, .rows = rows, .columns = columns, .ld = ld};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t l,
                                                cublasLtMatrixLayoutAttribute_t which, const void* from,
                                                size_t bytes) {
  if (l == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  switch (which) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE:
      return set(&l->type, sizeof l->type, from, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ORDER:
      return set(&l->order, sizeof l->order, from, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ROWS:
      return set(&l->rows, sizeof l->rows, from, bytes);
    case CUBLASLT_MATRIX_LAYOUT_COLS:
      return set(&l->columns, sizeof l->columns, from, bytes);
    case CUBLASLT_MATRIX_LAYOUT_LD:
      return set(&l->ld, sizeof l->ld, from, bytes);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return set(&l->batch, sizeof l->batch, from, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return set(&l->stride, sizeof l->stride, from, bytes);
  }
  return CUBLAS_STATUS_NOT_SUPPORTED;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  if (preference == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *preference = new cublasLtMatmulPreferenceOpaque;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t which,
                                                    const void* from, size_t bytes) {
  if (preference == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (which != CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) return CUBLAS_STATUS_SUCCESS;
  return set(&preference->workspace, sizeof preference->workspace, from, bytes);
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t d,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t, int most,
                                              cublasLtMatmulHeuristicResult_t results[], int* count) {
  Follows ignored;
  if (d == nullptr || count == nullptr || most < 1) return CUBLAS_STATUS_INVALID_VALUE;
  *count = known(d->epilogue, &ignored) ? 1 : 0;
  if (*count == 0) return CUBLAS_STATUS_NOT_SUPPORTED;
  results[0] = {};
  results[0].state = CUBLAS_STATUS_SUCCESS;
  results[0].wavesCount = 1;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t*, void*, size_t, cudaStream_t stream) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (desc == nullptr || a_layout == nullptr || b_layout == nullptr || c_layout == nullptr ||
      d_layout == nullptr || alpha == nullptr || beta == nullptr)
    return CUBLAS_STATUS_INVALID_VALUE;
  Follows follows;
  if (!known(desc->epilogue, &follows)) return CUBLAS_STATUS_NOT_SUPPORTED;
  const std::complex<double> factor = load(alpha, 0, desc->scale), keep = load(beta, 0, desc->scale);
  const auto work = [=, e = *desc, la = *a_layout, lb = *b_layout, lc = *c_layout,
                     ld = *d_layout](LibraryCall& call) {
    for (int k = 0; k < ld.batch; ++k)
      matmul(call, e, follows, matrix(la, a, k), matrix(lb, b, k), matrix(lc, c, k), matrix(ld, d, k), factor,
             keep, k);
  };
  return status_of(library_call("cublasLtMatmul", stream, work));
}
}
