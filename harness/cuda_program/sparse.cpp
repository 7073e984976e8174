// cuSPARSE on the host: products of sparse matrices with vectors and matrices, by loops in double precision.
#include <cusparse.h>

#include <set>
#include <string>

#include "harness/cuda_program/blas.h"

struct cusparseContext {
  cudaStream_t stream = nullptr;
  cusparsePointerMode_t pointers = CUSPARSE_POINTER_MODE_HOST;
};
struct cusparseSpMatDescr {
  enum class Form { rows, columns, pairs } form;  // CSR, CSC, COO
  int64_t rows, columns, count;
  void *first, *second, *values;  // offsets and indexes; of COO indexes of rows and columns
  cusparseIndexType_t first_type, second_type;
  int64_t base;
  cudaDataType type;
};
struct cusparseDnVecDescr {
  int64_t size;
  void* values;
  cudaDataType type;
};
struct cusparseDnMatDescr {
  int64_t rows, columns, ld;
  void* values;
  cudaDataType type;
  bool by_rows;
};

namespace klab::program::sparse {
namespace {

using Complex = std::complex<double>;
using SparseForm = cusparseSpMatDescr::Form;

std::set<cusparseHandle_t>& sparse_handles() {
  static auto& list = *new std::set<cusparseHandle_t>;
  return list;
}

size_t bytes_of(cusparseIndexType_t type) {
  return type == CUSPARSE_INDEX_16U ? 2 : type == CUSPARSE_INDEX_32I ? 4 : 8;
}
int64_t index_at(const void* p, int64_t k, cusparseIndexType_t type) {
  return type == CUSPARSE_INDEX_16U   ? static_cast<const uint16_t*>(p)[k]
         : type == CUSPARSE_INDEX_32I ? static_cast<const int32_t*>(p)[k]
                                      : static_cast<const int64_t*>(p)[k];
}

/// Ends a call whose matrix names elements that do not exist.
[[noreturn]] void bad_matrix(const LibraryCall& call, const std::string& what) {
  add_host_finding(simt::Kind::out_of_bounds, std::string(call.name()) + ": " + what);
  throw Failed{cudaErrorIllegalAddress};
}

/// Calls each(row, column, value) for the elements of a matrix.
template <class Each>
void each_element(LibraryCall& call, const cusparseSpMatDescr& a, const Each& each) {
  const int64_t groups = a.form == SparseForm::rows ? a.rows : a.columns;
  const int64_t others = a.form == SparseForm::rows ? a.columns : a.rows;
  call.reads(a.first, size_t(a.form == SparseForm::pairs ? a.count : groups + 1) * bytes_of(a.first_type));
  call.reads(a.second, size_t(a.count) * bytes_of(a.second_type));
  call.reads(a.values, size_t(a.count) * blas::size_of(a.type));
  const auto in = [&](int64_t index, int64_t size, const char* of, int64_t k) {
    if (index < 0 || index >= size)
      bad_matrix(call, std::string(of) + " " + std::to_string(index + a.base) + " of element " +
                           std::to_string(k) + " is none of " + std::to_string(size));
    return index;
  };
  if (a.form == SparseForm::pairs) {
    for (int64_t k = 0; k < a.count; ++k)
      each(in(index_at(a.first, k, a.first_type) - a.base, a.rows, "row", k),
           in(index_at(a.second, k, a.second_type) - a.base, a.columns, "column", k),
           blas::load(a.values, size_t(k), a.type));
    return;
  }
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t from = index_at(a.first, g, a.first_type) - a.base,
                  to = index_at(a.first, g + 1, a.first_type) - a.base;
    if (from < 0 || to > a.count || from > to)
      bad_matrix(call, "offsets " + std::to_string(from + a.base) + " to " + std::to_string(to + a.base) +
                           " do not lie in " + std::to_string(a.count) + " elements");
    for (int64_t k = from; k < to; ++k) {
      const int64_t other = in(index_at(a.second, k, a.second_type) - a.base, others,
                               a.form == SparseForm::rows ? "column" : "row", k);
      const Complex value = blas::load(a.values, size_t(k), a.type);
      each(a.form == SparseForm::rows ? g : other, a.form == SparseForm::rows ? other : g, value);
    }
  }
}

Complex conjugate(Complex x, cusparseOperation_t op) {
  return op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE ? std::conj(x) : x;
}

/// A factor that a call is given by address: read now if it is the host's, when the work runs if it is the device's.
std::function<Complex(LibraryCall&)> factor(cusparseHandle_t handle, const void* p, cudaDataType type) {
  if (handle->pointers == CUSPARSE_POINTER_MODE_HOST && memory_at(p) == nullptr)
    return [value = blas::load(p, 0, type)](LibraryCall&) { return value; };
  return [p, type](LibraryCall& call) {
    call.reads(p, blas::size_of(type));
    return blas::load(p, 0, type);
  };
}

/// Reads and writes a dense matrix by its rows or columns, as it is stored.
void touch(LibraryCall& call, const cusparseDnMatDescr& m, bool write) {
  const size_t unit = blas::size_of(m.type);
  const auto length = size_t(m.by_rows ? m.columns : m.rows), number = size_t(m.by_rows ? m.rows : m.columns);
  require(m.ld >= int64_t(length));
  if (write)
    call.writes_columns(m.values, length * unit, number, size_t(m.ld) * unit);
  else
    call.reads_columns(m.values, length * unit, number, size_t(m.ld) * unit);
}
size_t place(const cusparseDnMatDescr& m, int64_t row, int64_t column) {
  return size_t(m.by_rows ? row * m.ld + column : column * m.ld + row);
}

cusparseStatus_t status_of(cudaError_t error) {
  return error == cudaSuccess             ? CUSPARSE_STATUS_SUCCESS
         : error == cudaErrorInvalidValue ? CUSPARSE_STATUS_INVALID_VALUE
                                          : CUSPARSE_STATUS_EXECUTION_FAILED;
}

bool is_handle(cusparseHandle_t handle) {
  const std::lock_guard lock(state().mutex);
  return sparse_handles().contains(handle);
}

/// c = alpha op(a) op(b) + beta c. A vector is a matrix of one column.
cusparseStatus_t multiply_sparse(const char* name, cusparseHandle_t handle, cusparseOperation_t op_a,
                                 cusparseOperation_t op_b, const void* alpha, const cusparseSpMatDescr* a,
                                 const cusparseDnMatDescr& b, const void* beta, const cusparseDnMatDescr& c,
                                 cudaDataType compute) {
  if (!is_handle(handle)) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (a == nullptr || alpha == nullptr || beta == nullptr || blas::size_of(compute) == 0)
    return CUSPARSE_STATUS_INVALID_VALUE;
  const bool turned = op_a != CUSPARSE_OPERATION_NON_TRANSPOSE,
             b_turned = op_b != CUSPARSE_OPERATION_NON_TRANSPOSE;
  const int64_t rows = turned ? a->columns : a->rows, inner = turned ? a->rows : a->columns;
  if (c.rows != rows || (b_turned ? b.columns : b.rows) != inner ||
      (b_turned ? b.rows : b.columns) != c.columns)
    return CUSPARSE_STATUS_INVALID_VALUE;
  const auto scale = factor(handle, alpha, compute), keep = factor(handle, beta, compute);
  return status_of(library_call(name, handle->stream, [=, a = *a](LibraryCall& call) {
    const Complex by = scale(call), old = keep(call);
    touch(call, b, false);
    if (old != 0.0) touch(call, c, false);
    std::vector<Complex> sums(size_t(c.rows * c.columns));
    each_element(call, a, [&](int64_t row, int64_t column, Complex value) {
      const int64_t to = turned ? column : row, from = turned ? row : column;
      for (int64_t j = 0; j < c.columns; ++j) {
        const size_t at = b_turned ? place(b, j, from) : place(b, from, j);
        sums[size_t(to * c.columns + j)] +=
            conjugate(value, op_a) * conjugate(blas::load(b.values, at, b.type), op_b);
      }
    });
    touch(call, c, true);
    for (int64_t i = 0; i < c.rows; ++i)
      for (int64_t j = 0; j < c.columns; ++j) {
        const size_t at = place(c, i, j);
        // With a factor of 0 the old values are not read, which may be no numbers.
        const Complex before = old != 0.0 ? old * blas::load(c.values, at, c.type) : 0.0;
        blas::store(c.values, at, c.type, by * sums[size_t(i * c.columns + j)] + before);
      }
  }));
}

template <class T>
cusparseStatus_t create_descriptor(T** to, T value, bool valid) {
  if (to == nullptr || !valid || blas::size_of(value.type) == 0) return CUSPARSE_STATUS_INVALID_VALUE;
  *to = new T(value);
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t create_sparse(cusparseSpMatDescr_t* to, const cusparseSpMatDescr& m) {
  return create_descriptor(to, m,
                           m.rows >= 0 && m.columns >= 0 && m.count >= 0 && m.count <= m.rows * m.columns);
}
cusparseDnMatDescr as_matrix(const cusparseDnVecDescr& v) {
  return {v.size, 1, std::max<int64_t>(v.size, 1), v.values, v.type, false};
}

}  // namespace
}  // namespace klab::program::sparse

using namespace klab::program::sparse;

extern "C" {
cusparseStatus_t cusparseCreate(cusparseHandle_t* handle) {
  if (handle == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  const std::lock_guard lock(klab::program::state().mutex);
  sparse_handles().insert(*handle = new cusparseContext);
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDestroy(cusparseHandle_t handle) {
  const std::lock_guard lock(klab::program::state().mutex);
  if (sparse_handles().erase(handle) == 0) return CUSPARSE_STATUS_NOT_INITIALIZED;
  delete handle;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseGetVersion(cusparseHandle_t, int* version) {
  if (version == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  *version = CUSPARSE_VERSION;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t stream) {
  if (!is_handle(handle)) return CUSPARSE_STATUS_NOT_INITIALIZED;
  handle->stream = stream;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseGetStream(cusparseHandle_t handle, cudaStream_t* stream) {
  if (!is_handle(handle)) return CUSPARSE_STATUS_NOT_INITIALIZED;
  *stream = handle->stream;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t mode) {
  if (!is_handle(handle)) return CUSPARSE_STATUS_NOT_INITIALIZED;
  handle->pointers = mode;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseGetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t* mode) {
  if (!is_handle(handle)) return CUSPARSE_STATUS_NOT_INITIALIZED;
  *mode = handle->pointers;
  return CUSPARSE_STATUS_SUCCESS;
}
const char* cusparseGetErrorName(cusparseStatus_t status) {
  switch (status) {
    case CUSPARSE_STATUS_SUCCESS:
      return "CUSPARSE_STATUS_SUCCESS";
    case CUSPARSE_STATUS_NOT_INITIALIZED:
      return "CUSPARSE_STATUS_NOT_INITIALIZED";
    case CUSPARSE_STATUS_INVALID_VALUE:
      return "CUSPARSE_STATUS_INVALID_VALUE";
    case CUSPARSE_STATUS_EXECUTION_FAILED:
      return "CUSPARSE_STATUS_EXECUTION_FAILED";
    default:
      return "CUSPARSE_STATUS_INTERNAL_ERROR";
  }
}
const char* cusparseGetErrorString(cusparseStatus_t status) {
  switch (status) {
    case CUSPARSE_STATUS_SUCCESS:
      return "success";
    case CUSPARSE_STATUS_NOT_INITIALIZED:
      return "initialization error";
    case CUSPARSE_STATUS_INVALID_VALUE:
      return "invalid value";
    case CUSPARSE_STATUS_EXECUTION_FAILED:
      return "kernel launch failure";
    default:
      return "internal error";
  }
}

cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t* matrix, int64_t rows, int64_t columns, int64_t count,
                                   void* offsets, void* indexes, void* values,
                                   cusparseIndexType_t offset_type, cusparseIndexType_t index_type,
                                   cusparseIndexBase_t base, cudaDataType type) {
  return create_sparse(matrix, {SparseForm::rows, rows, columns, count, offsets, indexes, values, offset_type,
                                index_type, int64_t(base), type});
}
cusparseStatus_t cusparseCreateCsc(cusparseSpMatDescr_t* matrix, int64_t rows, int64_t columns, int64_t count,
                                   void* offsets, void* indexes, void* values,
                                   cusparseIndexType_t offset_type, cusparseIndexType_t index_type,
                                   cusparseIndexBase_t base, cudaDataType type) {
  return create_sparse(matrix, {SparseForm::columns, rows, columns, count, offsets, indexes, values,
                                offset_type, index_type, int64_t(base), type});
}
cusparseStatus_t cusparseCreateCoo(cusparseSpMatDescr_t* matrix, int64_t rows, int64_t columns, int64_t count,
                                   void* row_indexes, void* column_indexes, void* values,
                                   cusparseIndexType_t index_type, cusparseIndexBase_t base,
                                   cudaDataType type) {
  return create_sparse(matrix, {SparseForm::pairs, rows, columns, count, row_indexes, column_indexes, values,
                                index_type, index_type, int64_t(base), type});
}
cusparseStatus_t cusparseDestroySpMat(cusparseConstSpMatDescr_t matrix) {
  delete matrix;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMatGetSize(cusparseConstSpMatDescr_t matrix, int64_t* rows, int64_t* columns,
                                      int64_t* count) {
  if (matrix == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  *rows = matrix->rows, *columns = matrix->columns, *count = matrix->count;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseCreateDnVec(cusparseDnVecDescr_t* vector, int64_t size, void* values,
                                     cudaDataType type) {
  return create_descriptor(vector, {size, values, type}, size >= 0);
}
cusparseStatus_t cusparseDestroyDnVec(cusparseConstDnVecDescr_t vector) {
  delete vector;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDnVecSetValues(cusparseDnVecDescr_t vector, void* values) {
  if (vector == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  vector->values = values;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDnVecGetValues(cusparseDnVecDescr_t vector, void** values) {
  if (vector == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  *values = vector->values;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t* matrix, int64_t rows, int64_t columns, int64_t ld,
                                     void* values, cudaDataType type, cusparseOrder_t order) {
  const bool by_rows = order == CUSPARSE_ORDER_ROW;
  return create_descriptor(matrix, {rows, columns, ld, values, type, by_rows},
                           rows >= 0 && columns >= 0 && ld >= (by_rows ? columns : rows));
}
cusparseStatus_t cusparseDestroyDnMat(cusparseConstDnMatDescr_t matrix) {
  delete matrix;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDnMatSetValues(cusparseDnMatDescr_t matrix, void* values) {
  if (matrix == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  matrix->values = values;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDnMatGetValues(cusparseDnMatDescr_t matrix, void** values) {
  if (matrix == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  *values = matrix->values;
  return CUSPARSE_STATUS_SUCCESS;
}

// The loops need no memory of the program's. A size of 0 would make some programs allocate nothing and stop.
constexpr size_t kSparseBuffer = 256;
cusparseStatus_t cusparseSpMV_bufferSize(cusparseHandle_t, cusparseOperation_t, const void*,
                                         cusparseConstSpMatDescr_t, cusparseConstDnVecDescr_t, const void*,
                                         cusparseDnVecDescr_t, cudaDataType, cusparseSpMVAlg_t,
                                         size_t* bytes) {
  if (bytes == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  *bytes = kSparseBuffer;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMV_preprocess(cusparseHandle_t, cusparseOperation_t, const void*,
                                         cusparseConstSpMatDescr_t, cusparseConstDnVecDescr_t, const void*,
                                         cusparseDnVecDescr_t, cudaDataType, cusparseSpMVAlg_t, void*) {
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMV(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                              cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, const void* beta,
                              cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpMVAlg_t, void*) {
  if (x == nullptr || y == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  return multiply_sparse("cusparseSpMV", handle, op, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, a,
                         as_matrix(*x), beta, as_matrix(*y), compute);
}
cusparseStatus_t cusparseSpMM_bufferSize(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t,
                                         const void*, cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t,
                                         const void*, cusparseDnMatDescr_t, cudaDataType, cusparseSpMMAlg_t,
                                         size_t* bytes) {
  if (bytes == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  *bytes = kSparseBuffer;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMM_preprocess(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t,
                                         const void*, cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t,
                                         const void*, cusparseDnMatDescr_t, cudaDataType, cusparseSpMMAlg_t,
                                         void*) {
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMM(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                              const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                              const void* beta, cusparseDnMatDescr_t c, cudaDataType compute,
                              cusparseSpMMAlg_t, void*) {
  if (b == nullptr || c == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  return multiply_sparse("cusparseSpMM", handle, op_a, op_b, alpha, a, *b, beta, *c, compute);
}
}
