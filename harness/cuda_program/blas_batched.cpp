// cuBLAS on the host: batches of small matrices (LU factors, inverses, solutions, products with vectors), rotations, and sums of a product
// of a vector with itself. Computed in double precision.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "harness/cuda_program/blas.h"

namespace klab::program::blas {
namespace {

/// A square matrix by columns, in the precision of the computation.
template <class T>
struct Square {
  int n = 0;
  std::vector<Wide<T>> values;
  Wide<T>& operator()(int i, int j) { return values[size_t(i) + size_t(j) * size_t(n)]; }
  const Wide<T>& operator()(int i, int j) const { return values[size_t(i) + size_t(j) * size_t(n)]; }
};
template <class T>
Square<T> square_at(LibraryCall& call, const T* a, int n, int ld) {
  check_matrix(call, a, n, n, ld);
  Square<T> m{n, std::vector<Wide<T>>(size_t(n) * size_t(n))};
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) m(i, j) = get(a[i + int64_t(j) * ld]);
  return m;
}
template <class T>
void put_square(LibraryCall& call, const Square<T>& m, T* a, int ld) {
  will_write(call, a, m.n, m.n, ld);
  for (int j = 0; j < m.n; ++j)
    for (int i = 0; i < m.n; ++i) a[i + int64_t(j) * ld] = put<T>(m(i, j));
}
/// Returns address k of a list in device memory.
template <class T>
T* address(LibraryCall& call, T* const list[], int k) {
  call.reads(list + k, sizeof(T*));
  return list[k];
}

/// Replaces a matrix by its factors L, whose diagonal is 1, and U. `pivots`: the row that each was exchanged with, counted from 1; empty:
/// rows stay. Returns the first column whose pivot is 0, counted from 1, or 0.
template <class T>
int factorize(Square<T>& m, std::vector<int>* pivots) {
  int singular = 0;
  for (int k = 0; k < m.n; ++k) {
    int best = k;
    if (pivots != nullptr) {
      for (int i = k + 1; i < m.n; ++i)
        if (size1(m(i, k)) > size1(m(best, k))) best = i;
      pivots->push_back(best + 1);
      if (best != k)
        for (int j = 0; j < m.n; ++j) std::swap(m(k, j), m(best, j));
    }
    if (m(k, k) == 0.0) {
      if (singular == 0) singular = k + 1;
      continue;
    }
    for (int i = k + 1; i < m.n; ++i) {
      m(i, k) /= m(k, k);
      for (int j = k + 1; j < m.n; ++j) m(i, j) -= m(i, k) * m(k, j);
    }
  }
  return singular;
}

/// Solves op(A) x = b in place by the factors of A.
template <class T>
void solve(const Square<T>& m, const std::vector<int>& pivots, cublasOperation_t op,
           std::vector<Wide<T>>& x) {
  const int n = m.n;
  const auto exchange = [&](int k) {
    if (!pivots.empty()) std::swap(x[size_t(k)], x[size_t(pivots[size_t(k)] - 1)]);
  };
  const auto at = [&](int i, int j) { return conjugate(m(i, j), op == CUBLAS_OP_C); };
  if (op == CUBLAS_OP_N) {
    for (int k = 0; k < n; ++k) exchange(k);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < i; ++j) x[size_t(i)] -= m(i, j) * x[size_t(j)];
    for (int i = n - 1; i >= 0; --i) {
      for (int j = i + 1; j < n; ++j) x[size_t(i)] -= m(i, j) * x[size_t(j)];
      x[size_t(i)] /= m(i, i);
    }
    return;
  }
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < i; ++j) x[size_t(i)] -= at(j, i) * x[size_t(j)];
    x[size_t(i)] /= at(i, i);
  }
  for (int i = n - 1; i >= 0; --i)
    for (int j = i + 1; j < n; ++j) x[size_t(i)] -= at(j, i) * x[size_t(j)];
  for (int k = n - 1; k >= 0; --k) exchange(k);
}

template <class T>
Square<T> inverse_of(const Square<T>& factors, const std::vector<int>& pivots) {
  Square<T> result{factors.n, std::vector<Wide<T>>(factors.values.size())};
  for (int j = 0; j < factors.n; ++j) {
    std::vector<Wide<T>> x(size_t(factors.n), 0.0);
    x[size_t(j)] = 1.0;
    solve(factors, pivots, CUBLAS_OP_N, x);
    for (int i = 0; i < factors.n; ++i) result(i, j) = x[size_t(i)];
  }
  return result;
}

/// Reads the pivots of one matrix of a batch; none if `pivots` is null.
std::vector<int> pivots_of(LibraryCall& call, const int* pivots, int n, int k) {
  if (pivots == nullptr) return {};
  const int* mine = pivots + int64_t(k) * n;
  call.reads(mine, sizeof(int) * size_t(n));
  std::vector<int> list(mine, mine + n);
  for (const int row : list) require(row >= 1 && row <= n);
  return list;
}
int first_zero(const auto& factors) {
  for (int k = 0; k < factors.n; ++k)
    if (factors(k, k) == 0.0) return k + 1;
  return 0;
}

template <class T>
void multiply_vector(LibraryCall& call, cublasOperation_t op, int m, int n, Wide<T> factor, const T* a,
                     int ld, const T* x, int x_step, Wide<T> keep, T* y, int y_step) {
  const int rows = op == CUBLAS_OP_N ? m : n, inner = op == CUBLAS_OP_N ? n : m;
  const Vector<const T> from(x, inner, x_step);
  const Vector<T> to(y, rows, y_step);
  check_matrix(call, a, m, n, ld), from.reads(call);
  if (keep != 0.0) to.reads(call);
  to.writes(call);
  for (int i = 0; i < rows; ++i) {
    Wide<T> sum = 0;
    for (int j = 0; j < inner; ++j) {
      const int64_t at = op == CUBLAS_OP_N ? i + int64_t(j) * ld : j + int64_t(i) * ld;
      sum += conjugate(get(a[at]), op == CUBLAS_OP_C) * from.get(j);
    }
    to[i] = put<T>(factor * sum + (keep != 0.0 ? keep * to.get(i) : Wide<T>(0)));
  }
}

/// Finds the rotation that turns (a, b) into (r, 0), as BLAS does, which keeps in b what the rotation can be made from again.
void rotation(double& a, double& b, double& c, double& s) {
  const double larger = std::abs(a) > std::abs(b) ? a : b;
  const double r = std::copysign(std::hypot(a, b), larger);
  c = r == 0 ? 1 : a / r;
  s = r == 0 ? 0 : b / r;
  const bool of_a = std::abs(a) > std::abs(b);
  b = r == 0 ? 0 : of_a ? s : c != 0 ? 1 / c : 1;
  a = r;
}
void rotation(std::complex<double>& a, std::complex<double>& b, double& c, std::complex<double>& s) {
  if (std::abs(a) == 0) {
    c = 0, s = 1, a = b;
    return;
  }
  const double length = std::hypot(std::abs(a), std::abs(b));
  const std::complex<double> direction = a / std::abs(a);
  c = std::abs(a) / length;
  s = direction * std::conj(b) / length;
  a = direction * length;
}

}  // namespace
}  // namespace klab::program::blas

using namespace klab::program;
using namespace klab::program::blas;

#define KLAB_BATCHED(X, T, R)                                                                                \
  cublasStatus_t cublas##X##getrfBatched(cublasHandle_t handle, int n, T* const a[], int lda, int* pivots,   \
                                         int* info, int batch) {                                             \
    return run("cublas" #X "getrfBatched", handle, n >= 0 && batch >= 0 && info != nullptr,                  \
               [=](LibraryCall& call) {                                                                      \
                 for (int k = 0; k < batch; ++k) {                                                           \
                   T* const one = address(call, a, k);                                                       \
                   Square<T> m = square_at<T>(call, one, n, lda);                                            \
                   std::vector<int> rows;                                                                    \
                   give(call, info + k, factorize(m, pivots != nullptr ? &rows : nullptr));                  \
                   put_square(call, m, one, lda);                                                            \
                   for (size_t i = 0; i < rows.size(); ++i)                                                  \
                     give(call, pivots + int64_t(k) * n + int64_t(i), rows[i]);                              \
                 }                                                                                           \
               });                                                                                           \
  }                                                                                                          \
  cublasStatus_t cublas##X##getriBatched(cublasHandle_t handle, int n, const T* const a[], int lda,          \
                                         const int* pivots, T* const c[], int ldc, int* info, int batch) {   \
    return run("cublas" #X "getriBatched", handle, n >= 0 && batch >= 0 && info != nullptr,                  \
               [=](LibraryCall& call) {                                                                      \
                 for (int k = 0; k < batch; ++k) {                                                           \
                   const Square<T> m = square_at<T>(call, address(call, a, k), n, lda);                      \
                   const int singular = first_zero(m);                                                       \
                   give(call, info + k, singular);                                                           \
                   if (singular == 0)                                                                        \
                     put_square(call, inverse_of(m, pivots_of(call, pivots, n, k)), address(call, c, k),     \
                                ldc);                                                                        \
                 }                                                                                           \
               });                                                                                           \
  }                                                                                                          \
  cublasStatus_t cublas##X##matinvBatched(cublasHandle_t handle, int n, const T* const a[], int lda,         \
                                          T* const inverse[], int ld_inverse, int* info, int batch) {        \
    return run("cublas" #X "matinvBatched", handle, n >= 0 && n <= 32 && batch >= 0 && info != nullptr,      \
               [=](LibraryCall& call) {                                                                      \
                 for (int k = 0; k < batch; ++k) {                                                           \
                   Square<T> m = square_at<T>(call, address(call, a, k), n, lda);                            \
                   std::vector<int> rows;                                                                    \
                   const int singular = factorize(m, &rows);                                                 \
                   give(call, info + k, singular);                                                           \
                   if (singular == 0)                                                                        \
                     put_square(call, inverse_of(m, rows), address(call, inverse, k), ld_inverse);           \
                 }                                                                                           \
               });                                                                                           \
  }                                                                                                          \
  cublasStatus_t cublas##X##getrsBatched(cublasHandle_t handle, cublasOperation_t op, int n, int columns,    \
                                         const T* const a[], int lda, const int* pivots, T* const b[],       \
                                         int ldb, int* info, int batch) {                                    \
    if (info == nullptr) return CUBLAS_STATUS_INVALID_VALUE;                                                 \
    const int wrong = n < 0 ? -2 : columns < 0 ? -3 : ldb < std::max(1, n) ? -8 : batch < 0 ? -10 : 0;       \
    *info = wrong;                                                                                           \
    return run("cublas" #X "getrsBatched", handle, wrong == 0, [=](LibraryCall& call) {                      \
      for (int k = 0; k < batch; ++k) {                                                                      \
        const Square<T> m = square_at<T>(call, address(call, a, k), n, lda);                                 \
        const std::vector<int> rows = pivots_of(call, pivots, n, k);                                         \
        T* const to = address(call, b, k);                                                                   \
        check_matrix(call, to, n, columns, ldb), will_write(call, to, n, columns, ldb);                      \
        for (int j = 0; j < columns; ++j) {                                                                  \
          std::vector<Wide<T>> x;                                                                            \
          for (int i = 0; i < n; ++i) x.push_back(get(to[i + int64_t(j) * ldb]));                            \
          solve(m, rows, op, x);                                                                             \
          for (int i = 0; i < n; ++i) to[i + int64_t(j) * ldb] = put<T>(x[size_t(i)]);                       \
        }                                                                                                    \
      }                                                                                                      \
    });                                                                                                      \
  }                                                                                                          \
  cublasStatus_t cublas##X##trsmBatched(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t part, \
                                        cublasOperation_t op, cublasDiagType_t diagonal, int m, int n,       \
                                        const T* alpha, const T* const a[], int lda, T* const b[], int ldb,  \
                                        int batch) {                                                         \
    if (!is_handle(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;                                            \
    if (batch < 0) return CUBLAS_STATUS_INVALID_VALUE;                                                       \
    cudaStreamSynchronize(handle->stream); /* the addresses lie in device memory */                          \
    for (int k = 0; k < batch; ++k)                                                                          \
      if (const cublasStatus_t status =                                                                      \
              cublas##X##trsm(handle, side, part, op, diagonal, m, n, alpha, a[k], lda, b[k], ldb);          \
          status != CUBLAS_STATUS_SUCCESS)                                                                   \
        return status;                                                                                       \
    return CUBLAS_STATUS_SUCCESS;                                                                            \
  }                                                                                                          \
  cublasStatus_t cublas##X##gemvBatched(cublasHandle_t handle, cublasOperation_t op, int m, int n,           \
                                        const T* alpha, const T* const a[], int lda, const T* const x[],     \
                                        int x_step, const T* beta, T* const y[], int y_step, int batch) {    \
    if (!is_handle(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;                                            \
    return run("cublas" #X "gemvBatched", handle, m >= 0 && n >= 0 && batch >= 0,                            \
               [=, f = scalar(handle, alpha), g = scalar(handle, beta)](LibraryCall& call) {                 \
                 const Wide<T> factor = f(call), keep = g(call);                                             \
                 for (int k = 0; k < batch; ++k)                                                             \
                   multiply_vector<T>(call, op, m, n, factor, address(call, a, k), lda, address(call, x, k), \
                                      x_step, keep, address(call, y, k), y_step);                            \
               });                                                                                           \
  }                                                                                                          \
  cublasStatus_t cublas##X##gemvStridedBatched(cublasHandle_t handle, cublasOperation_t op, int m, int n,    \
                                               const T* alpha, const T* a, int lda, long long a_stride,      \
                                               const T* x, int x_step, long long x_stride, const T* beta,    \
                                               T* y, int y_step, long long y_stride, int batch) {            \
    if (!is_handle(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;                                            \
    return run("cublas" #X "gemvStridedBatched", handle, m >= 0 && n >= 0 && batch >= 0,                     \
               [=, f = scalar(handle, alpha), g = scalar(handle, beta)](LibraryCall& call) {                 \
                 const Wide<T> factor = f(call), keep = g(call);                                             \
                 for (int k = 0; k < batch; ++k)                                                             \
                   multiply_vector<T>(call, op, m, n, factor, a + k * a_stride, lda, x + k * x_stride,       \
                                      x_step, keep, y + k * y_stride, y_step);                               \
               });                                                                                           \
  }                                                                                                          \
  cublasStatus_t cublas##X##syr(cublasHandle_t handle, cublasFillMode_t part, int n, const T* alpha,         \
                                const T* x, int x_step, T* a, int lda) {                                     \
    if (!is_handle(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;                                            \
    return run("cublas" #X "syr", handle, n >= 0, [=, f = scalar(handle, alpha)](LibraryCall& call) {        \
      const Vector<const T> v(x, n, x_step);                                                                 \
      const Wide<T> factor = f(call);                                                                        \
      v.reads(call);                                                                                         \
      for (int j = 0; j < n; ++j) {                                                                          \
        const int from = part == CUBLAS_FILL_MODE_UPPER ? 0 : j;                                             \
        const int to = part == CUBLAS_FILL_MODE_UPPER ? j + 1 : n;                                           \
        T* const column = a + int64_t(j) * lda;                                                              \
        call.reads(column + from, sizeof(T) * size_t(to - from));                                            \
        call.writes(column + from, sizeof(T) * size_t(to - from));                                           \
        for (int i = from; i < to; ++i) column[i] = put<T>(get(column[i]) + factor * v.get(i) * v.get(j));   \
      }                                                                                                      \
    });                                                                                                      \
  }                                                                                                          \
  cublasStatus_t cublas##X##rot(cublasHandle_t handle, int n, T* x, int x_step, T* y, int y_step,            \
                                const R* cosine, const T* sine) {                                            \
    if (!is_handle(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;                                            \
    return run("cublas" #X "rot", handle, true,                                                              \
               [=, f = scalar(handle, cosine), g = scalar(handle, sine)](LibraryCall& call) {                \
                 const Vector<T> u(x, n, x_step), v(y, n, y_step);                                           \
                 const double c = f(call);                                                                   \
                 const Wide<T> s = g(call);                                                                  \
                 u.reads(call), v.reads(call), u.writes(call), v.writes(call);                               \
                 for (int k = 0; k < n; ++k) {                                                               \
                   const Wide<T> p = u.get(k), q = v.get(k);                                                 \
                   u[k] = put<T>(c * p + s * q);                                                             \
                   v[k] = put<T>(c * q - conjugate(s, true) * p);                                            \
                 }                                                                                           \
               });                                                                                           \
  }                                                                                                          \
  cublasStatus_t cublas##X##rotg(cublasHandle_t handle, T* a, T* b, R* cosine, T* sine) {                    \
    return run("cublas" #X "rotg", handle,                                                                   \
               a != nullptr && b != nullptr && cosine != nullptr && sine != nullptr,                         \
               [=](LibraryCall& call) {                                                                      \
                 for (const T* p : {a, b})                                                                   \
                   if (memory_at(p) != nullptr) call.reads(p, sizeof(T));                                    \
                 Wide<T> p = get(*a), q = get(*b), s = 0;                                                    \
                 double c = 0;                                                                               \
                 rotation(p, q, c, s);                                                                       \
                 give(call, a, put<T>(p)), give(call, b, put<T>(q));                                         \
                 give(call, cosine, R(c)), give(call, sine, put<T>(s));                                      \
               });                                                                                           \
  }

extern "C" {
KLAB_BATCHED(S, float, float)
KLAB_BATCHED(D, double, double)
KLAB_BATCHED(C, cuComplex, float)
KLAB_BATCHED(Z, cuDoubleComplex, double)
}
