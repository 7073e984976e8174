// What the parts of cuBLAS on the host share: handles, types of numbers, matrices, and the product that all others use.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <vector>

#include <cublasLt.h>
#include "harness/cuda_program/library_calls.h"

struct cublasContext {
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointers = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
};

namespace klab::program::blas {

template <class T>
struct Number {  // real
  using Wide = double;
  using Real = T;
  static constexpr bool is_complex = false;
  static double get(const T& x) { return double(x); }
  static T put(double x) { return T(x); }
};
template <class T, class R>
struct ComplexNumber {
  using Wide = std::complex<double>;
  using Real = R;
  static constexpr bool is_complex = true;
  static Wide get(const T& x) { return {x.x, x.y}; }
  static T put(Wide x) { return {R(x.real()), R(x.imag())}; }
};
template <>
struct Number<cuComplex> : ComplexNumber<cuComplex, float> {};
template <>
struct Number<cuDoubleComplex> : ComplexNumber<cuDoubleComplex, double> {};
template <>
struct Number<__half> {
  using Wide = double;
  using Real = __half;
  static constexpr bool is_complex = false;
  static double get(__half x) { return float(x); }
  static __half put(double x) { return __half(x); }
};
template <class T>
using Wide = typename Number<T>::Wide;

inline double conjugate(double x, bool) { return x; }
inline std::complex<double> conjugate(std::complex<double> x, bool yes) { return yes ? std::conj(x) : x; }

/// Size of a number of that type; 0: not known here.
size_t size_of(cudaDataType type);
std::complex<double> load(const void* p, size_t index, cudaDataType type);
void store(void* p, size_t index, cudaDataType type, std::complex<double> value);

/// A matrix in device memory, stored by columns (or by rows).
struct Matrix {
  const void* p = nullptr;
  cudaDataType type = CUDA_R_32F;
  int64_t rows = 0, columns = 0, ld = 0;  // as stored
  bool by_rows = false;
};
/// How numbers are multiplied: the widths of the products of a call.
enum class Precision { single, twice, complex_single, complex_double };
Precision precision_of(cublasComputeType_t compute, cudaDataType type);

/// A matrix by columns, in the precision of a product.
struct Dense {
  int64_t rows = 0, columns = 0;
  Precision precision = Precision::single;
  std::vector<float> single;  // complex numbers take two
  std::vector<double> twice;
  std::complex<double> at(int64_t row, int64_t column) const;
};
/// Reads op(m).
Dense read(LibraryCall& call, const Matrix& m, cublasOperation_t op, Precision precision);
Dense product(const Dense& a, const Dense& b);
/// Writes every element of a matrix of the device.
void write(LibraryCall& call, const Matrix& m,
           const std::function<std::complex<double>(int64_t row, int64_t column)>& value);

/// One product c = alpha op(a) op(b) + beta c.
void multiply(LibraryCall& call, const Matrix& a, cublasOperation_t op_a, const Matrix& b,
              cublasOperation_t op_b, std::complex<double> alpha, std::complex<double> beta, const Matrix& c,
              Precision precision);

cudaDataType type_of(const float*);
cudaDataType type_of(const double*);
cudaDataType type_of(const cuComplex*);
cudaDataType type_of(const cuDoubleComplex*);
cudaDataType type_of(const __half*);

bool is_handle(cublasHandle_t handle);
cublasStatus_t status_of(cudaError_t error);

/// A number that a call is given by address: read now if it is the host's, when the work runs if it is the device's.
template <class T>
std::function<Wide<T>(LibraryCall&)> scalar(cublasHandle_t handle, const T* p) {
  if (handle->pointers == CUBLAS_POINTER_MODE_HOST && memory_at(p) == nullptr)
    return [value = Number<T>::get(*p)](LibraryCall&) { return value; };
  return [p](LibraryCall& call) {
    call.reads(p, sizeof(T));
    return Number<T>::get(*p);
  };
}

/// Runs a call of the library in the handle's stream.
inline cublasStatus_t run(const char* name, cublasHandle_t handle, bool valid,
                          std::function<void(LibraryCall&)> work) {
  if (!is_handle(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!valid) return CUBLAS_STATUS_INVALID_VALUE;
  return status_of(library_call(name, handle->stream, std::move(work)));
}

/// A vector in device memory. With a negative step it begins at its end, as in BLAS.
template <class T>
class Vector {
 public:
  Vector(T* p, int n, int step) : p_(p), n_(n), step_(step) {}
  void reads(LibraryCall& call) const {
    if (step_ == 0 && n_ > 0) throw Failed{cudaErrorInvalidValue};
    call.reads_columns(p_, sizeof(T), size_t(n_), sizeof(T) * size_t(std::abs(step_)));
  }
  void writes(LibraryCall& call) const {
    call.writes_columns(const_cast<std::remove_const_t<T>*>(p_), sizeof(T), size_t(n_),
                        sizeof(T) * size_t(std::abs(step_)));
  }
  T& operator[](int k) const { return p_[int64_t(step_ < 0 ? k - n_ + 1 : k) * step_]; }
  auto get(int k) const { return Number<std::remove_const_t<T>>::get((*this)[k]); }

 private:
  T* p_;
  int n_, step_;
};

template <class T>
auto get(const T& x) {
  return Number<T>::get(x);
}
template <class T>
T put(Wide<T> x) {
  return Number<T>::put(x);
}
inline double size1(double x) { return std::abs(x); }
inline double size1(std::complex<double> x) { return std::abs(x.real()) + std::abs(x.imag()); }

/// Stores a result of a call, on the host or the device.
template <class R>
void give(LibraryCall& call, R* result, R value) {
  if (memory_at(result) != nullptr) call.writes(result, sizeof(R));
  *result = value;
}

template <class T>
void check_matrix(LibraryCall& call, const T* a, int rows, int columns, int ld) {
  require(ld >= std::max(1, rows));
  call.reads_columns(a, sizeof(T) * size_t(rows), size_t(columns), sizeof(T) * size_t(ld));
}
template <class T>
void will_write(LibraryCall& call, T* a, int rows, int columns, int ld) {
  require(ld >= std::max(1, rows));
  call.writes_columns(a, sizeof(T) * size_t(rows), size_t(columns), sizeof(T) * size_t(ld));
}

}  // namespace klab::program::blas
