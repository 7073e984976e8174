// cuBLAS on the host: handles, transfers, and matrix products in all their forms. OpenBLAS multiplies where it is
// installed, else loops of klab's own.
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "harness/cuda_program/blas.h"
#include "harness/simt/half.h"
#include "harness/simt/memory.h"

namespace klab::program::blas {
namespace {

std::set<cublasHandle_t>& handles() {
  static auto& list = *new std::set<cublasHandle_t>;
  return list;
}

/// The C interface of a BLAS, found when the first product needs it.
struct Fast {
  using Single = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float,
                          float*, int);
  using Double = void (*)(int, int, int, int, int, int, double, const double*, int, const double*, int,
                          double, double*, int);
  using Complex = void (*)(int, int, int, int, int, int, const void*, const void*, int, const void*, int,
                           const void*, void*, int);
  Single single = nullptr;
  Double twice = nullptr;
  Complex complex_single = nullptr, complex_double = nullptr;
  Fast() {
    void* library = std::getenv("KLAB_NO_OPENBLAS") != nullptr
                        ? nullptr
                        : dlopen("libopenblas.so.0", RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) return;
    single = reinterpret_cast<Single>(dlsym(library, "cblas_sgemm"));
    twice = reinterpret_cast<Double>(dlsym(library, "cblas_dgemm"));
    complex_single = reinterpret_cast<Complex>(dlsym(library, "cblas_cgemm"));
    complex_double = reinterpret_cast<Complex>(dlsym(library, "cblas_zgemm"));
  }
};
const Fast& fast() {
  static const Fast& one = *new Fast;
  return one;
}
constexpr int kByColumns = 102, kAsIs = 111;  // of the C interface

template <class T>
void multiply_here(int64_t m, int64_t n, int64_t k, const T* a, const T* b, T* c) {
  std::fill(c, c + m * n, T(0));
  for (int64_t j = 0; j < n; ++j)
    for (int64_t l = 0; l < k; ++l) {
      const T factor = b[l + j * k];
      for (int64_t i = 0; i < m; ++i) c[i + j * m] += a[i + l * m] * factor;
    }
}

bool is_complex(Precision p) { return p == Precision::complex_single || p == Precision::complex_double; }
bool is_single(Precision p) { return p == Precision::single || p == Precision::complex_single; }

template <class T>
void put(std::vector<T>& list, size_t index, bool complex, std::complex<double> value) {
  if (!complex) {
    list[index] = T(value.real());
    return;
  }
  list[2 * index] = T(value.real());
  list[2 * index + 1] = T(value.imag());
}

}  // namespace

bool is_handle(cublasHandle_t handle) {
  const std::lock_guard lock(state().mutex);
  return handles().contains(handle);
}

cublasStatus_t status_of(cudaError_t error) {
  return error == cudaSuccess             ? CUBLAS_STATUS_SUCCESS
         : error == cudaErrorInvalidValue ? CUBLAS_STATUS_INVALID_VALUE
                                          : CUBLAS_STATUS_EXECUTION_FAILED;
}

cudaDataType type_of(const float*) { return CUDA_R_32F; }
cudaDataType type_of(const double*) { return CUDA_R_64F; }
cudaDataType type_of(const cuComplex*) { return CUDA_C_32F; }
cudaDataType type_of(const cuDoubleComplex*) { return CUDA_C_64F; }
cudaDataType type_of(const __half*) { return CUDA_R_16F; }

size_t size_of(cudaDataType type) {
  switch (type) {
    case CUDA_R_8I:
    case CUDA_R_8U:
      return 1;
    case CUDA_R_16F:
    case CUDA_R_16BF:
      return 2;
    case CUDA_R_32F:
    case CUDA_R_32I:
      return 4;
    case CUDA_R_64F:
    case CUDA_C_32F:
      return 8;
    case CUDA_C_64F:
      return 16;
    default:
      return 0;
  }
}

std::complex<double> load(const void* p, size_t index, cudaDataType type) {
  const auto at = [&](auto zero) {
    decltype(zero) value;
    std::memcpy(&value, static_cast<const char*>(p) + index * sizeof value, sizeof value);
    return value;
  };
  switch (type) {
    case CUDA_R_8I:
      return double(at(int8_t{}));
    case CUDA_R_8U:
      return double(at(uint8_t{}));
    case CUDA_R_16F:
      return double(simt::float_from_half(at(uint16_t{})));
    case CUDA_R_16BF:
      return double(std::bit_cast<float>(uint32_t(at(uint16_t{})) << 16));
    case CUDA_R_32I:
      return double(at(int32_t{}));
    case CUDA_R_32F:
      return double(at(float{}));
    case CUDA_R_64F:
      return at(double{});
    case CUDA_C_32F:
      return std::complex<double>(at(std::complex<float>{}));
    default:
      return at(std::complex<double>{});
  }
}

void store(void* p, size_t index, cudaDataType type, std::complex<double> value) {
  const auto at = [&](auto number) {
    std::memcpy(static_cast<char*>(p) + index * sizeof number, &number, sizeof number);
  };
  switch (type) {
    case CUDA_R_8I:
      return at(int8_t(value.real()));
    case CUDA_R_8U:
      return at(uint8_t(value.real()));
    case CUDA_R_16F:
      return at(__half(value.real()));
    case CUDA_R_16BF:
      return at(__nv_bfloat16(float(value.real())));
    case CUDA_R_32I:
      return at(int32_t(value.real()));
    case CUDA_R_32F:
      return at(float(value.real()));
    case CUDA_R_64F:
      return at(value.real());
    case CUDA_C_32F:
      return at(std::complex<float>(value));
    default:
      return at(value);
  }
}

Precision precision_of(cublasComputeType_t compute, cudaDataType type) {
  const bool twice = compute == CUBLAS_COMPUTE_64F || compute == CUBLAS_COMPUTE_64F_PEDANTIC ||
                     compute == CUBLAS_COMPUTE_32I || compute == CUBLAS_COMPUTE_32I_PEDANTIC ||
                     type == CUDA_R_64F || type == CUDA_C_64F;
  const bool complex = type == CUDA_C_32F || type == CUDA_C_64F;
  return complex ? (twice ? Precision::complex_double : Precision::complex_single)
                 : (twice ? Precision::twice : Precision::single);
}

std::complex<double> Dense::at(int64_t row, int64_t column) const {
  const auto index = size_t(row + column * rows);
  switch (precision) {
    case Precision::single:
      return double(single[index]);
    case Precision::twice:
      return twice[index];
    case Precision::complex_single:
      return {single[2 * index], single[2 * index + 1]};
    default:
      return {twice[2 * index], twice[2 * index + 1]};
  }
}

Dense read(LibraryCall& call, const Matrix& m, cublasOperation_t op, Precision precision) {
  const int64_t inner = m.by_rows ? m.columns : m.rows, outer = m.by_rows ? m.rows : m.columns;
  const size_t bytes = size_of(m.type);
  require(bytes != 0 && m.ld >= inner);
  call.reads_columns(m.p, size_t(inner) * bytes, size_t(outer), size_t(m.ld) * bytes);
  const bool turned = op != CUBLAS_OP_N && op != CUBLAS_OP_CONJG;
  const bool conjugated = op == CUBLAS_OP_C || op == CUBLAS_OP_CONJG;
  Dense d{
      .rows = turned ? m.columns : m.rows, .columns = turned ? m.rows : m.columns, .precision = precision};
  const bool complex = is_complex(precision);
  const size_t numbers = size_t(d.rows * d.columns) * (complex ? 2 : 1);
  (is_single(precision) ? d.single.resize(numbers) : d.twice.resize(numbers));
  for (int64_t j = 0; j < outer; ++j)
    for (int64_t i = 0; i < inner; ++i) {
      const int64_t row = m.by_rows ? j : i, column = m.by_rows ? i : j;
      const auto index = size_t(turned ? column + row * d.rows : row + column * d.rows);
      const auto value = conjugate(load(m.p, size_t(i + j * m.ld), m.type), conjugated);
      if (is_single(precision))
        put(d.single, index, complex, value);
      else
        put(d.twice, index, complex, value);
    }
  return d;
}

Dense product(const Dense& a, const Dense& b) {
  Dense c{.rows = a.rows, .columns = b.columns, .precision = a.precision};
  const int64_t m = a.rows, n = b.columns, k = a.columns;
  const size_t numbers = size_t(m * n) * (is_complex(a.precision) ? 2 : 1);
  (is_single(a.precision) ? c.single.resize(numbers, 0) : c.twice.resize(numbers, 0));
  if (m == 0 || n == 0 || k == 0) return c;
  const Fast& f = fast();
  switch (a.precision) {
    case Precision::single:
      if (f.single != nullptr)
        f.single(kByColumns, kAsIs, kAsIs, int(m), int(n), int(k), 1, a.single.data(), int(m),
                 b.single.data(), int(k), 0, c.single.data(), int(m));
      else
        multiply_here(m, n, k, a.single.data(), b.single.data(), c.single.data());
      break;
    case Precision::twice:
      if (f.twice != nullptr)
        f.twice(kByColumns, kAsIs, kAsIs, int(m), int(n), int(k), 1, a.twice.data(), int(m), b.twice.data(),
                int(k), 0, c.twice.data(), int(m));
      else
        multiply_here(m, n, k, a.twice.data(), b.twice.data(), c.twice.data());
      break;
    case Precision::complex_single: {
      using C = std::complex<float>;
      const C one = 1, zero = 0;
      if (f.complex_single != nullptr)
        f.complex_single(kByColumns, kAsIs, kAsIs, int(m), int(n), int(k), &one, a.single.data(), int(m),
                         b.single.data(), int(k), &zero, c.single.data(), int(m));
      else
        multiply_here(m, n, k, reinterpret_cast<const C*>(a.single.data()),
                      reinterpret_cast<const C*>(b.single.data()), reinterpret_cast<C*>(c.single.data()));
      break;
    }
    case Precision::complex_double: {
      using C = std::complex<double>;
      const C one = 1, zero = 0;
      if (f.complex_double != nullptr)
        f.complex_double(kByColumns, kAsIs, kAsIs, int(m), int(n), int(k), &one, a.twice.data(), int(m),
                         b.twice.data(), int(k), &zero, c.twice.data(), int(m));
      else
        multiply_here(m, n, k, reinterpret_cast<const C*>(a.twice.data()),
                      reinterpret_cast<const C*>(b.twice.data()), reinterpret_cast<C*>(c.twice.data()));
      break;
    }
  }
  return c;
}

void write(LibraryCall& call, const Matrix& m,
           const std::function<std::complex<double>(int64_t row, int64_t column)>& value) {
  const int64_t inner = m.by_rows ? m.columns : m.rows, outer = m.by_rows ? m.rows : m.columns;
  const size_t bytes = size_of(m.type);
  require(bytes != 0 && m.ld >= inner);
  void* p = const_cast<void*>(m.p);
  call.writes_columns(p, size_t(inner) * bytes, size_t(outer), size_t(m.ld) * bytes);
  for (int64_t j = 0; j < outer; ++j)
    for (int64_t i = 0; i < inner; ++i)
      store(p, size_t(i + j * m.ld), m.type, m.by_rows ? value(j, i) : value(i, j));
}

void multiply(LibraryCall& call, const Matrix& a, cublasOperation_t op_a, const Matrix& b,
              cublasOperation_t op_b, std::complex<double> alpha, std::complex<double> beta, const Matrix& c,
              Precision precision) {
  if (c.rows == 0 || c.columns == 0) return;
  Dense sum{.rows = c.rows, .columns = c.columns, .precision = precision};
  const bool any = alpha != 0.0;
  if (any) sum = product(read(call, a, op_a, precision), read(call, b, op_b, precision));
  Dense old;
  if (beta != 0.0) old = read(call, c, CUBLAS_OP_N, precision);
  write(call, c, [&](int64_t i, int64_t j) {
    std::complex<double> value = any ? alpha * sum.at(i, j) : 0.0;
    if (beta != 0.0) value += beta * old.at(i, j);
    return value;
  });
}

namespace {

struct Shape {
  cublasOperation_t op_a, op_b;
  int m, n, k;
  bool valid() const { return m >= 0 && n >= 0 && k >= 0; }
  Matrix a(const void* p, cudaDataType type, int64_t ld) const {
    return op_a == CUBLAS_OP_N ? Matrix{p, type, m, k, ld} : Matrix{p, type, k, m, ld};
  }
  Matrix b(const void* p, cudaDataType type, int64_t ld) const {
    return op_b == CUBLAS_OP_N ? Matrix{p, type, k, n, ld} : Matrix{p, type, n, k, ld};
  }
};

/// The matrices of a batch: by stride, or from an array of addresses in device memory.
struct Batch {
  const void* p;
  long long stride;  // in numbers
  bool list;
  const void* at(LibraryCall& call, int k, cudaDataType type) const {
    if (!list) return static_cast<const char*>(p) + k * stride * (long long)(size_of(type));
    call.reads(static_cast<const void* const*>(p) + k, sizeof(void*));
    return static_cast<const void* const*>(p)[k];
  }
};

std::function<std::complex<double>(LibraryCall&)> number_of(cublasHandle_t handle, const void* p,
                                                            cudaDataType type) {
  if (handle->pointers == CUBLAS_POINTER_MODE_HOST && memory_at(p) == nullptr)
    return [value = load(p, 0, type)](LibraryCall&) { return value; };
  return [p, type](LibraryCall& call) {
    call.reads(p, size_of(type));
    return load(p, 0, type);
  };
}

cudaDataType scale_of(cublasComputeType_t compute, cudaDataType c_type) {
  if (c_type == CUDA_C_32F || c_type == CUDA_C_64F) return c_type;
  switch (compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      return CUDA_R_16F;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
      return CUDA_R_64F;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      return c_type == CUDA_R_32I ? CUDA_R_32I : CUDA_R_32F;
    default:
      return CUDA_R_32F;
  }
}

cublasStatus_t gemm(const char* name, cublasHandle_t handle, Shape s, const void* alpha,
                    cudaDataType scale_type, Batch a, cudaDataType a_type, int lda, Batch b,
                    cudaDataType b_type, int ldb, const void* beta, Batch c, cudaDataType c_type, int ldc,
                    int batch, cublasComputeType_t compute) {
  const bool valid = s.valid() && batch >= 0 && size_of(a_type) != 0 && size_of(b_type) != 0 &&
                     size_of(c_type) != 0 && alpha != nullptr && beta != nullptr;
  if (!is_handle(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!valid) return CUBLAS_STATUS_INVALID_VALUE;
  const auto factor = number_of(handle, alpha, scale_type), keep = number_of(handle, beta, scale_type);
  return run(name, handle, true, [=](LibraryCall& call) {
    for (int k = 0; k < batch; ++k)
      multiply(call, s.a(a.at(call, k, a_type), a_type, lda), s.op_a, s.b(b.at(call, k, b_type), b_type, ldb),
               s.op_b, factor(call), keep(call), {c.at(call, k, c_type), c_type, s.m, s.n, ldc},
               precision_of(compute, c_type));
  });
}

cublasStatus_t copy_matrix(int rows, int columns, int bytes, const void* from, int from_ld, void* to,
                           int to_ld, cudaMemcpyKind kind, cudaStream_t stream, bool waits) {
  if (rows < 0 || columns < 0 || bytes <= 0 || from_ld <= 0 || to_ld <= 0) return CUBLAS_STATUS_INVALID_VALUE;
  if (rows == 0 || columns == 0) return CUBLAS_STATUS_SUCCESS;
  const auto size = size_t(bytes);
  const cudaError_t error = waits ? cudaMemcpy2D(to, size_t(to_ld) * size, from, size_t(from_ld) * size,
                                                 size_t(rows) * size, size_t(columns), kind)
                                  : cudaMemcpy2DAsync(to, size_t(to_ld) * size, from, size_t(from_ld) * size,
                                                      size_t(rows) * size, size_t(columns), kind, stream);
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_MAPPING_ERROR;
}

}  // namespace
}  // namespace klab::program::blas

using namespace klab::program;
using namespace klab::program::blas;

extern "C" {
cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const std::lock_guard lock(state().mutex);
  *handle = new cublasContext;
  handles().insert(*handle);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  const std::lock_guard lock(state().mutex);
  if (handles().erase(handle) == 0) return CUBLAS_STATUS_NOT_INITIALIZED;
  synchronized(nullptr, true);
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
#define KLAB_OF_HANDLE(action)                                  \
  if (!is_handle(handle)) return CUBLAS_STATUS_NOT_INITIALIZED; \
  action;                                                       \
  return CUBLAS_STATUS_SUCCESS;
cublasStatus_t cublasSetStream(cublasHandle_t handle,
                               cudaStream_t stream){KLAB_OF_HANDLE(handle->stream = stream)} cublasStatus_t
    cublasGetStream(cublasHandle_t handle,
                    cudaStream_t* stream){KLAB_OF_HANDLE(*stream = handle->stream)} cublasStatus_t
    cublasSetPointerMode(cublasHandle_t handle,
                         cublasPointerMode_t mode){KLAB_OF_HANDLE(handle->pointers = mode)} cublasStatus_t
    cublasGetPointerMode(cublasHandle_t handle,
                         cublasPointerMode_t* mode){KLAB_OF_HANDLE(*mode = handle->pointers)} cublasStatus_t
    cublasSetMathMode(cublasHandle_t handle,
                      cublasMath_t mode){KLAB_OF_HANDLE(handle->math = mode)} cublasStatus_t
    cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  KLAB_OF_HANDLE(*mode = handle->math)
}
#undef KLAB_OF_HANDLE
const char* cublasGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_MAPPING_ERROR:
      return "CUBLAS_STATUS_MAPPING_ERROR";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    default:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
  }
}
const char* cublasGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "the operation completed successfully";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "the library was not initialized";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "an unsupported value or parameter was passed to the function";
    case CUBLAS_STATUS_MAPPING_ERROR:
      return "an access to GPU memory space failed";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "the GPU program failed to execute";
    default:
      return "the functionality requested is not supported";
  }
}

#define KLAB_TRANSFERS(What, kind)                                                                          \
  cublasStatus_t cublas##What##Matrix(int rows, int columns, int bytes, const void* from, int from_ld,      \
                                      void* to, int to_ld) {                                                \
    return copy_matrix(rows, columns, bytes, from, from_ld, to, to_ld, kind, nullptr, true);                \
  }                                                                                                         \
  cublasStatus_t cublas##What##MatrixAsync(int rows, int columns, int bytes, const void* from, int from_ld, \
                                           void* to, int to_ld, cudaStream_t stream) {                      \
    return copy_matrix(rows, columns, bytes, from, from_ld, to, to_ld, kind, stream, false);                \
  }                                                                                                         \
  cublasStatus_t cublas##What##Vector(int n, int bytes, const void* from, int from_step, void* to,          \
                                      int to_step) {                                                        \
    return copy_matrix(1, n, bytes, from, from_step, to, to_step, kind, nullptr, true);                     \
  }                                                                                                         \
  cublasStatus_t cublas##What##VectorAsync(int n, int bytes, const void* from, int from_step, void* to,     \
                                           int to_step, cudaStream_t stream) {                              \
    return copy_matrix(1, n, bytes, from, from_step, to, to_step, kind, stream, false);                     \
  }
KLAB_TRANSFERS(Set, cudaMemcpyHostToDevice)
KLAB_TRANSFERS(Get, cudaMemcpyDeviceToHost)

#define KLAB_PRODUCTS(X, T, compute)                                                                       \
  cublasStatus_t cublas##X##gemm(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,    \
                                 int m, int n, int k, const T* alpha, const T* a, int lda, const T* b,     \
                                 int ldb, const T* beta, T* c, int ldc) {                                  \
    const cudaDataType t = type_of(a);                                                                     \
    return gemm("cublas" #X "gemm", handle, {op_a, op_b, m, n, k}, alpha, t, {a, 0, false}, t, lda,        \
                {b, 0, false}, t, ldb, beta, {c, 0, false}, t, ldc, 1, compute);                           \
  }                                                                                                        \
  cublasStatus_t cublas##X##gemmBatched(cublasHandle_t handle, cublasOperation_t op_a,                     \
                                        cublasOperation_t op_b, int m, int n, int k, const T* alpha,       \
                                        const T* const a[], int lda, const T* const b[], int ldb,          \
                                        const T* beta, T* const c[], int ldc, int batch) {                 \
    const cudaDataType t = type_of(alpha);                                                                 \
    return gemm("cublas" #X "gemmBatched", handle, {op_a, op_b, m, n, k}, alpha, t, {a, 0, true}, t, lda,  \
                {b, 0, true}, t, ldb, beta, {c, 0, true}, t, ldc, batch, compute);                         \
  }                                                                                                        \
  cublasStatus_t cublas##X##gemmStridedBatched(                                                            \
      cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,          \
      const T* alpha, const T* a, int lda, long long a_stride, const T* b, int ldb, long long b_stride,    \
      const T* beta, T* c, int ldc, long long c_stride, int batch) {                                       \
    const cudaDataType t = type_of(alpha);                                                                 \
    return gemm("cublas" #X "gemmStridedBatched", handle, {op_a, op_b, m, n, k}, alpha, t,                 \
                {a, a_stride, false}, t, lda, {b, b_stride, false}, t, ldb, beta, {c, c_stride, false}, t, \
                ldc, batch, compute);                                                                      \
  }
KLAB_PRODUCTS(S, float, CUBLAS_COMPUTE_32F)
KLAB_PRODUCTS(D, double, CUBLAS_COMPUTE_64F)
KLAB_PRODUCTS(C, cuComplex, CUBLAS_COMPUTE_32F)
KLAB_PRODUCTS(Z, cuDoubleComplex, CUBLAS_COMPUTE_64F)
KLAB_PRODUCTS(H, __half, CUBLAS_COMPUTE_16F)

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m,
                            int n, int k, const void* alpha, const void* a, cudaDataType a_type, int lda,
                            const void* b, cudaDataType b_type, int ldb, const void* beta, void* c,
                            cudaDataType c_type, int ldc, cublasComputeType_t compute, cublasGemmAlgo_t) {
  return gemm("cublasGemmEx", handle, {op_a, op_b, m, n, k}, alpha, scale_of(compute, c_type), {a, 0, false},
              a_type, lda, {b, 0, false}, b_type, ldb, beta, {c, 0, false}, c_type, ldc, 1, compute);
}
cublasStatus_t cublasGemmBatchedEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                                   int m, int n, int k, const void* alpha, const void* const a[],
                                   cudaDataType a_type, int lda, const void* const b[], cudaDataType b_type,
                                   int ldb, const void* beta, void* const c[], cudaDataType c_type, int ldc,
                                   int batch, cublasComputeType_t compute, cublasGemmAlgo_t) {
  return gemm("cublasGemmBatchedEx", handle, {op_a, op_b, m, n, k}, alpha, scale_of(compute, c_type),
              {a, 0, true}, a_type, lda, {b, 0, true}, b_type, ldb, beta, {c, 0, true}, c_type, ldc, batch,
              compute);
}
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t op_a,
                                          cublasOperation_t op_b, int m, int n, int k, const void* alpha,
                                          const void* a, cudaDataType a_type, int lda, long long a_stride,
                                          const void* b, cudaDataType b_type, int ldb, long long b_stride,
                                          const void* beta, void* c, cudaDataType c_type, int ldc,
                                          long long c_stride, int batch, cublasComputeType_t compute,
                                          cublasGemmAlgo_t) {
  return gemm("cublasGemmStridedBatchedEx", handle, {op_a, op_b, m, n, k}, alpha, scale_of(compute, c_type),
              {a, a_stride, false}, a_type, lda, {b, b_stride, false}, b_type, ldb, beta,
              {c, c_stride, false}, c_type, ldc, batch, compute);
}
cublasStatus_t cublasSgemmEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m,
                             int n, int k, const float* alpha, const void* a, cudaDataType a_type, int lda,
                             const void* b, cudaDataType b_type, int ldb, const float* beta, void* c,
                             cudaDataType c_type, int ldc) {
  return gemm("cublasSgemmEx", handle, {op_a, op_b, m, n, k}, alpha, CUDA_R_32F, {a, 0, false}, a_type, lda,
              {b, 0, false}, b_type, ldb, beta, {c, 0, false}, c_type, ldc, 1, CUBLAS_COMPUTE_32F);
}
}
