// cuBLAS on the host: levels 1 and 2, and the other matrix functions. Sums are made in double precision.
#include <algorithm>
#include <cmath>

#include "harness/cuda_program/blas.h"

namespace klab::program::blas {
namespace {

/// The elements of a triangle of a square matrix that a call uses.
struct Triangle {
  bool upper, unit;
  bool holds(int i, int j) const { return i == j ? !unit : upper ? i < j : i > j; }
};
/// Reads the columns of a triangle, so that the other one may hold anything.
template <class T>
void read_triangle(LibraryCall& call, Triangle t, const T* a, int n, int ld) {
  require(ld >= std::max(1, n));
  for (int j = 0; j < n; ++j) {
    const int from = t.upper ? 0 : j + int(t.unit), to = t.upper ? j + int(!t.unit) : n;
    if (to > from) call.reads(a + from + int64_t(j) * ld, sizeof(T) * size_t(to - from));
  }
}
/// Returns element (i, j) of op(a), where a is a triangle.
template <class T>
Wide<T> element(Triangle t, cublasOperation_t op, const T* a, int ld, int i, int j) {
  if (op != CUBLAS_OP_N) std::swap(i, j);
  if (i == j && t.unit) return 1.0;
  if (!t.holds(i, j)) return 0.0;
  return conjugate(get(a[i + int64_t(j) * ld]), op == CUBLAS_OP_C);
}
bool is_upper(Triangle t, cublasOperation_t op) { return t.upper == (op == CUBLAS_OP_N); }

/// Solves op(a) x = b in place; `x(k)` gives access to the vector.
template <class T, class Access>
void solve(Triangle t, cublasOperation_t op, const T* a, int ld, int n, Access x) {
  const bool upper = is_upper(t, op);
  for (int step = 0; step < n; ++step) {
    const int i = upper ? n - 1 - step : step;
    Wide<T> sum = x(i);
    for (int j = upper ? i + 1 : 0; j < (upper ? n : i); ++j) sum -= element(t, op, a, ld, i, j) * x(j);
    x(i) = t.unit ? sum : sum / element(t, op, a, ld, i, i);
  }
}

/// Solves op(a)^T x = b in place.
template <class T, class Access>
void solve_turned(Triangle t, cublasOperation_t op, const T* a, int ld, int n, Access x) {
  const bool upper = !is_upper(t, op);
  for (int step = 0; step < n; ++step) {
    const int i = upper ? n - 1 - step : step;
    Wide<T> sum = x(i);
    for (int j = upper ? i + 1 : 0; j < (upper ? n : i); ++j) sum -= element(t, op, a, ld, j, i) * x(j);
    x(i) = t.unit ? sum : sum / element(t, op, a, ld, i, i);
  }
}

template <class T>
cublasStatus_t largest(const char* name, cublasHandle_t handle, int n, const T* x, int step, int* result,
                       bool smallest) {
  return run(name, handle, result != nullptr, [=](LibraryCall& call) {
    int best = 0;
    if (n > 0 && step > 0) {
      const Vector<const T> v(x, n, step);
      v.reads(call);
      for (int k = 1; k < n; ++k) {
        const double a = size1(v.get(k)), b = size1(v.get(best));
        if (smallest ? a < b : a > b) best = k;
      }
      ++best;  // counted from 1
    }
    give(call, result, best);
  });
}

}  // namespace
}  // namespace klab::program::blas

using namespace klab::program;
using namespace klab::program::blas;

#define KLAB_VECTORS(X, T, R)                                                                                \
  cublasStatus_t cublas##X##axpy(cublasHandle_t handle, int n, const T* alpha, const T* x, int x_step, T* y, \
                                 int y_step) {                                                               \
    if (!is_handle(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;                                            \
    return run("cublas" #X "axpy", handle, true, [=, f = scalar(handle, alpha)](LibraryCall& call) {         \
      const Vector<const T> from(x, n, x_step);                                                              \
      const Vector<T> to(y, n, y_step);                                                                      \
      const Wide<T> factor = f(call);                                                                        \
      from.reads(call), to.reads(call), to.writes(call);                                                     \
      for (int k = 0; k < n; ++k) to[k] = put<T>(factor * from.get(k) + to.get(k));                          \
    });                                                                                                      \
  }                                                                                                          \
  cublasStatus_t cublas##X##scal(cublasHandle_t handle, int n, const T* alpha, T* x, int x_step) {           \
    if (!is_handle(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;                                            \
    return run("cublas" #X "scal", handle, true, [=, f = scalar(handle, alpha)](LibraryCall& call) {         \
      const Vector<T> v(x, n, x_step);                                                                       \
      const Wide<T> factor = f(call);                                                                        \
      v.reads(call), v.writes(call);                                                                         \
      for (int k = 0; k < n; ++k) v[k] = put<T>(factor * v.get(k));                                          \
    });                                                                                                      \
  }                                                                                                          \
  cublasStatus_t cublas##X##copy(cublasHandle_t handle, int n, const T* x, int x_step, T* y, int y_step) {   \
    return run("cublas" #X "copy", handle, true, [=](LibraryCall& call) {                                    \
      const Vector<const T> from(x, n, x_step);                                                              \
      const Vector<T> to(y, n, y_step);                                                                      \
      from.reads(call), to.writes(call);                                                                     \
      for (int k = 0; k < n; ++k) to[k] = from[k];                                                           \
    });                                                                                                      \
  }                                                                                                          \
  cublasStatus_t cublas##X##swap(cublasHandle_t handle, int n, T* x, int x_step, T* y, int y_step) {         \
    return run("cublas" #X "swap", handle, true, [=](LibraryCall& call) {                                    \
      const Vector<T> a(x, n, x_step), b(y, n, y_step);                                                      \
      a.reads(call), b.reads(call), a.writes(call), b.writes(call);                                          \
      for (int k = 0; k < n; ++k) std::swap(a[k], b[k]);                                                     \
    });                                                                                                      \
  }                                                                                                          \
  cublasStatus_t cublasI##X##amax_(cublasHandle_t handle, int n, const T* x, int x_step, int* result) {      \
    return largest("cublasI" #X "amax", handle, n, x, x_step, result, false);                                \
  }                                                                                                          \
  cublasStatus_t cublasI##X##amin_(cublasHandle_t handle, int n, const T* x, int x_step, int* result) {      \
    return largest("cublasI" #X "amin", handle, n, x, x_step, result, true);                                 \
  }                                                                                                          \
  cublasStatus_t cublas##X##nrm2_(cublasHandle_t handle, int n, const T* x, int x_step, R* result) {         \
    return run("cublas" #X "nrm2", handle, result != nullptr, [=](LibraryCall& call) {                       \
      const Vector<const T> v(x, n, x_step);                                                                 \
      v.reads(call);                                                                                         \
      double sum = 0;                                                                                        \
      for (int k = 0; k < n; ++k) sum += std::norm(std::complex<double>(v.get(k)));                          \
      give(call, result, R(std::sqrt(sum)));                                                                 \
    });                                                                                                      \
  }                                                                                                          \
  cublasStatus_t cublas##X##asum_(cublasHandle_t handle, int n, const T* x, int x_step, R* result) {         \
    return run("cublas" #X "asum", handle, result != nullptr, [=](LibraryCall& call) {                       \
      const Vector<const T> v(x, n, x_step);                                                                 \
      v.reads(call);                                                                                         \
      double sum = 0;                                                                                        \
      for (int k = 0; k < n; ++k) sum += size1(v.get(k));                                                    \
      give(call, result, R(sum));                                                                            \
    });                                                                                                      \
  }                                                                                                          \
  cublasStatus_t cublas##X##dot_(cublasHandle_t handle, int n, const T* x, int x_step, const T* y,           \
                                 int y_step, T* result, int conjugated) {                                    \
    return run("cublas" #X "dot", handle, result != nullptr, [=](LibraryCall& call) {                        \
      const Vector<const T> a(x, n, x_step), b(y, n, y_step);                                                \
      a.reads(call), b.reads(call);                                                                          \
      Wide<T> sum = 0;                                                                                       \
      for (int k = 0; k < n; ++k) sum += conjugate(a.get(k), conjugated != 0) * b.get(k);                    \
      give(call, result, put<T>(sum));                                                                       \
    });                                                                                                      \
  }                                                                                                          \
  cublasStatus_t cublas##X##gemv(cublasHandle_t handle, cublasOperation_t op, int m, int n, const T* alpha,  \
                                 const T* a, int lda, const T* x, int x_step, const T* beta, T* y,           \
                                 int y_step) {                                                               \
    if (!is_handle(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;                                            \
    return run("cublas" #X "gemv", handle, m >= 0 && n >= 0,                                                 \
               [=, f = scalar(handle, alpha), g = scalar(handle, beta)](LibraryCall& call) {                 \
                 const int rows = op == CUBLAS_OP_N ? m : n, inner = op == CUBLAS_OP_N ? n : m;              \
                 const Vector<const T> from(x, inner, x_step);                                               \
                 const Vector<T> to(y, rows, y_step);                                                        \
                 const Wide<T> factor = f(call), keep = g(call);                                             \
                 check_matrix(call, a, m, n, lda), from.reads(call);                                         \
                 if (keep != 0.0) to.reads(call);                                                            \
                 to.writes(call);                                                                            \
                 for (int i = 0; i < rows; ++i) {                                                            \
                   Wide<T> sum = 0;                                                                          \
                   for (int j = 0; j < inner; ++j) {                                                         \
                     const int64_t at = op == CUBLAS_OP_N ? i + int64_t(j) * lda : j + int64_t(i) * lda;     \
                     sum += conjugate(get(a[at]), op == CUBLAS_OP_C) * from.get(j);                          \
                   }                                                                                         \
                   to[i] = put<T>(factor * sum + (keep != 0.0 ? keep * to.get(i) : Wide<T>(0)));             \
                 }                                                                                           \
               });                                                                                           \
  }                                                                                                          \
  cublasStatus_t cublas##X##ger_(cublasHandle_t handle, int m, int n, const T* alpha, const T* x,            \
                                 int x_step, const T* y, int y_step, T* a, int lda, int conjugated) {        \
    if (!is_handle(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;                                            \
    return run("cublas" #X "ger", handle, m >= 0 && n >= 0,                                                  \
               [=, f = scalar(handle, alpha)](LibraryCall& call) {                                           \
                 const Vector<const T> u(x, m, x_step), v(y, n, y_step);                                     \
                 const Wide<T> factor = f(call);                                                             \
                 u.reads(call), v.reads(call);                                                               \
                 check_matrix(call, a, m, n, lda), will_write(call, a, m, n, lda);                           \
                 for (int j = 0; j < n; ++j)                                                                 \
                   for (int i = 0; i < m; ++i) {                                                             \
                     T& to = a[i + int64_t(j) * lda];                                                        \
                     to = put<T>(get(to) + factor * u.get(i) * conjugate(v.get(j), conjugated != 0));        \
                   }                                                                                         \
               });                                                                                           \
  }                                                                                                          \
  cublasStatus_t cublas##X##symv(cublasHandle_t handle, cublasFillMode_t part, int n, const T* alpha,        \
                                 const T* a, int lda, const T* x, int x_step, const T* beta, T* y,           \
                                 int y_step) {                                                               \
    if (!is_handle(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;                                            \
    return run("cublas" #X "symv", handle, n >= 0,                                                           \
               [=, f = scalar(handle, alpha), g = scalar(handle, beta)](LibraryCall& call) {                 \
                 const Triangle t{part == CUBLAS_FILL_MODE_UPPER, false};                                    \
                 const Vector<const T> from(x, n, x_step);                                                   \
                 const Vector<T> to(y, n, y_step);                                                           \
                 const Wide<T> factor = f(call), keep = g(call);                                             \
                 read_triangle(call, t, a, n, lda), from.reads(call);                                        \
                 if (keep != 0.0) to.reads(call);                                                            \
                 to.writes(call);                                                                            \
                 for (int i = 0; i < n; ++i) {                                                               \
                   Wide<T> sum = 0;                                                                          \
                   for (int j = 0; j < n; ++j)                                                               \
                     sum += get(t.holds(i, j) ? a[i + int64_t(j) * lda] : a[j + int64_t(i) * lda]) *         \
                            from.get(j);                                                                     \
                   to[i] = put<T>(factor * sum + (keep != 0.0 ? keep * to.get(i) : Wide<T>(0)));             \
                 }                                                                                           \
               });                                                                                           \
  }                                                                                                          \
  cublasStatus_t cublas##X##trsv(cublasHandle_t handle, cublasFillMode_t part, cublasOperation_t op,         \
                                 cublasDiagType_t diagonal, int n, const T* a, int lda, T* x, int x_step) {  \
    return run("cublas" #X "trsv", handle, n >= 0, [=](LibraryCall& call) {                                  \
      const Triangle t{part == CUBLAS_FILL_MODE_UPPER, diagonal == CUBLAS_DIAG_UNIT};                        \
      const Vector<T> v(x, n, x_step);                                                                       \
      read_triangle(call, t, a, n, lda), v.reads(call), v.writes(call);                                      \
      std::vector<Wide<T>> all(size_t(n), 0);                                                                \
      for (int k = 0; k < n; ++k) all[size_t(k)] = v.get(k);                                                 \
      solve(t, op, a, lda, n, [&](int k) -> Wide<T>& { return all[size_t(k)]; });                            \
      for (int k = 0; k < n; ++k) v[k] = put<T>(all[size_t(k)]);                                             \
    });                                                                                                      \
  }                                                                                                          \
  cublasStatus_t cublas##X##trmv(cublasHandle_t handle, cublasFillMode_t part, cublasOperation_t op,         \
                                 cublasDiagType_t diagonal, int n, const T* a, int lda, T* x, int x_step) {  \
    return run("cublas" #X "trmv", handle, n >= 0, [=](LibraryCall& call) {                                  \
      const Triangle t{part == CUBLAS_FILL_MODE_UPPER, diagonal == CUBLAS_DIAG_UNIT};                        \
      const Vector<T> v(x, n, x_step);                                                                       \
      read_triangle(call, t, a, n, lda), v.reads(call), v.writes(call);                                      \
      std::vector<Wide<T>> all(size_t(n), 0);                                                                \
      for (int i = 0; i < n; ++i)                                                                            \
        for (int j = 0; j < n; ++j) all[size_t(i)] += element(t, op, a, lda, i, j) * v.get(j);               \
      for (int k = 0; k < n; ++k) v[k] = put<T>(all[size_t(k)]);                                             \
    });                                                                                                      \
  }                                                                                                          \
  cublasStatus_t cublas##X##symm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t part, int m, \
                                 int n, const T* alpha, const T* a, int lda, const T* b, int ldb,            \
                                 const T* beta, T* c, int ldc) {                                             \
    if (!is_handle(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;                                            \
    return run("cublas" #X "symm", handle, m >= 0 && n >= 0,                                                 \
               [=, f = scalar(handle, alpha), g = scalar(handle, beta)](LibraryCall& call) {                 \
                 const Triangle t{part == CUBLAS_FILL_MODE_UPPER, false};                                    \
                 const bool left = side == CUBLAS_SIDE_LEFT;                                                 \
                 const int inner = left ? m : n;                                                             \
                 const Wide<T> factor = f(call), keep = g(call);                                             \
                 read_triangle(call, t, a, inner, lda), check_matrix(call, b, m, n, ldb);                    \
                 if (keep != 0.0) check_matrix(call, c, m, n, ldc);                                          \
                 will_write(call, c, m, n, ldc);                                                             \
                 const auto whole = [&](int i, int j) {                                                      \
                   return get(t.holds(i, j) ? a[i + int64_t(j) * lda] : a[j + int64_t(i) * lda]);            \
                 };                                                                                          \
                 for (int j = 0; j < n; ++j)                                                                 \
                   for (int i = 0; i < m; ++i) {                                                             \
                     Wide<T> sum = 0;                                                                        \
                     for (int k = 0; k < inner; ++k)                                                         \
                       sum += left ? whole(i, k) * get(b[k + int64_t(j) * ldb])                              \
                                   : get(b[i + int64_t(k) * ldb]) * whole(k, j);                             \
                     T& to = c[i + int64_t(j) * ldc];                                                        \
                     to = put<T>(factor * sum + (keep != 0.0 ? keep * get(to) : Wide<T>(0)));                \
                   }                                                                                         \
               });                                                                                           \
  }                                                                                                          \
  cublasStatus_t cublas##X##syrk(cublasHandle_t handle, cublasFillMode_t part, cublasOperation_t op, int n,  \
                                 int k, const T* alpha, const T* a, int lda, const T* beta, T* c, int ldc) { \
    if (!is_handle(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;                                            \
    return run("cublas" #X "syrk", handle, n >= 0 && k >= 0,                                                 \
               [=, f = scalar(handle, alpha), g = scalar(handle, beta)](LibraryCall& call) {                 \
                 const Triangle t{part == CUBLAS_FILL_MODE_UPPER, false};                                    \
                 const bool as_is = op == CUBLAS_OP_N;                                                       \
                 const Wide<T> factor = f(call), keep = g(call);                                             \
                 check_matrix(call, a, as_is ? n : k, as_is ? k : n, lda);                                   \
                 if (keep != 0.0) read_triangle(call, t, c, n, ldc);                                         \
                 require(ldc >= std::max(1, n));                                                             \
                 for (int j = 0; j < n; ++j) {                                                               \
                   const int from = t.upper ? 0 : j, to = t.upper ? j + 1 : n;                               \
                   call.writes(c + from + int64_t(j) * ldc, sizeof(T) * size_t(to - from));                  \
                   for (int i = from; i < to; ++i) {                                                         \
                     Wide<T> sum = 0;                                                                        \
                     for (int l = 0; l < k; ++l)                                                             \
                       sum += as_is ? get(a[i + int64_t(l) * lda]) * get(a[j + int64_t(l) * lda])            \
                                    : get(a[l + int64_t(i) * lda]) * get(a[l + int64_t(j) * lda]);           \
                     T& out = c[i + int64_t(j) * ldc];                                                       \
                     out = put<T>(factor * sum + (keep != 0.0 ? keep * get(out) : Wide<T>(0)));              \
                   }                                                                                         \
                 }                                                                                           \
               });                                                                                           \
  }                                                                                                          \
  cublasStatus_t cublas##X##trsm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t part,        \
                                 cublasOperation_t op, cublasDiagType_t diagonal, int m, int n,              \
                                 const T* alpha, const T* a, int lda, T* b, int ldb) {                       \
    if (!is_handle(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;                                            \
    return run("cublas" #X "trsm", handle, m >= 0 && n >= 0,                                                 \
               [=, f = scalar(handle, alpha)](LibraryCall& call) {                                           \
                 const Triangle t{part == CUBLAS_FILL_MODE_UPPER, diagonal == CUBLAS_DIAG_UNIT};             \
                 const bool left = side == CUBLAS_SIDE_LEFT;                                                 \
                 const int order = left ? m : n;                                                             \
                 const Wide<T> factor = f(call);                                                             \
                 read_triangle(call, t, a, order, lda);                                                      \
                 check_matrix(call, b, m, n, ldb), will_write(call, b, m, n, ldb);                           \
                 /* x op(a) = b is op(a)^T x^T = b^T. */                                                     \
                 std::vector<Wide<T>> x(size_t(order), 0);                                                   \
                 const auto at = [&](int k, int line) -> T& {                                                \
                   return left ? b[k + int64_t(line) * ldb] : b[line + int64_t(k) * ldb];                    \
                 };                                                                                          \
                 for (int line = 0; line < (left ? n : m); ++line) {                                         \
                   for (int k = 0; k < order; ++k) x[size_t(k)] = factor * get(at(k, line));                 \
                   const auto value = [&](int k) -> Wide<T>& { return x[size_t(k)]; };                       \
                   if (left)                                                                                 \
                     solve(t, op, a, lda, order, value);                                                     \
                   else                                                                                      \
                     solve_turned(t, op, a, lda, order, value);                                              \
                   for (int k = 0; k < order; ++k) at(k, line) = put<T>(x[size_t(k)]);                       \
                 }                                                                                           \
               });                                                                                           \
  }                                                                                                          \
  cublasStatus_t cublas##X##trmm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t part,        \
                                 cublasOperation_t op, cublasDiagType_t diagonal, int m, int n,              \
                                 const T* alpha, const T* a, int lda, const T* b, int ldb, T* c, int ldc) {  \
    if (!is_handle(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;                                            \
    return run("cublas" #X "trmm", handle, m >= 0 && n >= 0,                                                 \
               [=, f = scalar(handle, alpha)](LibraryCall& call) {                                           \
                 const Triangle t{part == CUBLAS_FILL_MODE_UPPER, diagonal == CUBLAS_DIAG_UNIT};             \
                 const bool left = side == CUBLAS_SIDE_LEFT;                                                 \
                 const int inner = left ? m : n;                                                             \
                 const Wide<T> factor = f(call);                                                             \
                 read_triangle(call, t, a, inner, lda), check_matrix(call, b, m, n, ldb);                    \
                 will_write(call, c, m, n, ldc);                                                             \
                 std::vector<Wide<T>> all(size_t(m) * size_t(n), 0); /* c may be b */                        \
                 for (int j = 0; j < n; ++j)                                                                 \
                   for (int i = 0; i < m; ++i)                                                               \
                     for (int k = 0; k < inner; ++k)                                                         \
                       all[size_t(i) + size_t(j) * size_t(m)] +=                                             \
                           left ? element(t, op, a, lda, i, k) * get(b[k + int64_t(j) * ldb])                \
                                : get(b[i + int64_t(k) * ldb]) * element(t, op, a, lda, k, j);               \
                 for (int j = 0; j < n; ++j)                                                                 \
                   for (int i = 0; i < m; ++i)                                                               \
                     c[i + int64_t(j) * ldc] = put<T>(factor * all[size_t(i) + size_t(j) * size_t(m)]);      \
               });                                                                                           \
  }                                                                                                          \
  cublasStatus_t cublas##X##geam(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,      \
                                 int m, int n, const T* alpha, const T* a, int lda, const T* beta,           \
                                 const T* b, int ldb, T* c, int ldc) {                                       \
    if (!is_handle(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;                                            \
    return run("cublas" #X "geam", handle, m >= 0 && n >= 0,                                                 \
               [=, f = scalar(handle, alpha), g = scalar(handle, beta)](LibraryCall& call) {                 \
                 const Wide<T> factor = f(call), other = g(call);                                            \
                 const auto part = [&](cublasOperation_t op, const T* p, int ld, int i, int j) {             \
                   const int64_t at = op == CUBLAS_OP_N ? i + int64_t(j) * ld : j + int64_t(i) * ld;         \
                   return conjugate(get(p[at]), op == CUBLAS_OP_C);                                          \
                 };                                                                                          \
                 if (factor != 0.0)                                                                          \
                   check_matrix(call, a, op_a == CUBLAS_OP_N ? m : n, op_a == CUBLAS_OP_N ? n : m, lda);     \
                 if (other != 0.0)                                                                           \
                   check_matrix(call, b, op_b == CUBLAS_OP_N ? m : n, op_b == CUBLAS_OP_N ? n : m, ldb);     \
                 will_write(call, c, m, n, ldc);                                                             \
                 for (int j = 0; j < n; ++j)                                                                 \
                   for (int i = 0; i < m; ++i) {                                                             \
                     Wide<T> sum = 0;                                                                        \
                     if (factor != 0.0) sum += factor * part(op_a, a, lda, i, j);                            \
                     if (other != 0.0) sum += other * part(op_b, b, ldb, i, j);                              \
                     c[i + int64_t(j) * ldc] = put<T>(sum);                                                  \
                   }                                                                                         \
               });                                                                                           \
  }                                                                                                          \
  cublasStatus_t cublas##X##dgmm(cublasHandle_t handle, cublasSideMode_t side, int m, int n, const T* a,     \
                                 int lda, const T* x, int x_step, T* c, int ldc) {                           \
    return run("cublas" #X "dgmm", handle, m >= 0 && n >= 0, [=](LibraryCall& call) {                        \
      const bool left = side == CUBLAS_SIDE_LEFT;                                                            \
      const Vector<const T> v(x, left ? m : n, x_step);                                                      \
      check_matrix(call, a, m, n, lda), v.reads(call), will_write(call, c, m, n, ldc);                       \
      for (int j = 0; j < n; ++j)                                                                            \
        for (int i = 0; i < m; ++i)                                                                          \
          c[i + int64_t(j) * ldc] = put<T>(get(a[i + int64_t(j) * lda]) * v.get(left ? i : j));              \
    });                                                                                                      \
  }

extern "C" {
KLAB_VECTORS(S, float, float)
KLAB_VECTORS(D, double, double)
KLAB_VECTORS(C, cuComplex, float)
KLAB_VECTORS(Z, cuDoubleComplex, double)
}
