// right
// flags: -lcusparse
// Sparse matrices in three forms, of two types, times vectors and matrices.
#include <cusparse.h>

#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>
#define SPARSE(call)                                                   \
  if (const cusparseStatus_t s = (call); s != CUSPARSE_STATUS_SUCCESS) \
  return std::printf("%s\n", cusparseGetErrorString(s)), 4

constexpr int kRows = 5, kColumns = 4, kWide = 3;
template <class T>
T* on_device(const std::vector<T>& h) {
  T* p;
  cudaMalloc(&p, h.size() * sizeof(T));
  cudaMemcpy(p, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice);
  return p;
}
template <class T>
bool same(const T* device, const std::vector<T>& wanted, const char* what) {
  std::vector<T> is(wanted.size());
  cudaMemcpy(is.data(), device, is.size() * sizeof(T), cudaMemcpyDeviceToHost);
  for (size_t k = 0; k < is.size(); ++k)
    if (std::abs(is[k] - wanted[k]) > T(1e-4))
      return std::printf("%s %zu: %g, not %g\n", what, k, double(is[k]), double(wanted[k])), false;
  return true;
}
template <class T>
int all(cusparseHandle_t handle, cudaDataType type) {
  // Row 2 is empty.
  std::vector<T> dense(kRows * kColumns, T(0));
  std::vector<int> offsets = {0}, columns, rows, of_columns = {1}, rows_by_column;
  std::vector<T> values, by_column;
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j)
      if (i != 2 && (i + 2 * j) % 3 == 0) {
        const T v = T(1 + i * kColumns + j);
        dense[i * kColumns + j] = v;
        rows.push_back(i), columns.push_back(j), values.push_back(v);
      }
    offsets.push_back(int(columns.size()));
  }
  for (int j = 0; j < kColumns; ++j) {  // counted from 1
    for (int i = 0; i < kRows; ++i)
      if (dense[i * kColumns + j] != 0)
        rows_by_column.push_back(i + 1), by_column.push_back(dense[i * kColumns + j]);
    of_columns.push_back(1 + int(by_column.size()));
  }
  const auto count = int64_t(values.size());
  int *d_offsets = on_device(offsets), *d_columns = on_device(columns), *d_rows = on_device(rows);
  int *d_of_columns = on_device(of_columns), *d_rows_by_column = on_device(rows_by_column);
  T *d_values = on_device(values), *d_by_column = on_device(by_column);
  cusparseSpMatDescr_t csr, csc, coo;
  SPARSE(cusparseCreateCsr(&csr, kRows, kColumns, count, d_offsets, d_columns, d_values, CUSPARSE_INDEX_32I,
                           CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type));
  SPARSE(cusparseCreateCsc(&csc, kRows, kColumns, count, d_of_columns, d_rows_by_column, d_by_column,
                           CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ONE, type));
  SPARSE(cusparseCreateCoo(&coo, kRows, kColumns, count, d_rows, d_columns, d_values, CUSPARSE_INDEX_32I,
                           CUSPARSE_INDEX_BASE_ZERO, type));
  const std::vector<T> x = {1, 2, 3, 4}, long_x = {5, 4, 3, 2, 1};
  std::vector<T> y(kRows, T(10)), turned(kColumns, T(0));
  for (int i = 0; i < kRows; ++i) {
    y[i] *= T(0.5);
    for (int j = 0; j < kColumns; ++j) {
      y[i] += 2 * dense[i * kColumns + j] * x[j];
      turned[j] += dense[i * kColumns + j] * long_x[i];
    }
  }
  T *d_x = on_device(x), *d_long_x = on_device(long_x),
    *d_turned = on_device(std::vector<T>(kColumns, T(NAN)));
  const T two = 2, half = T(0.5), one = 1, zero = 0;
  cusparseDnVecDescr_t v_x, v_long, v_turned;
  SPARSE(cusparseCreateDnVec(&v_x, kColumns, d_x, type));
  SPARSE(cusparseCreateDnVec(&v_long, kRows, d_long_x, type));
  SPARSE(cusparseCreateDnVec(&v_turned, kColumns, d_turned, type));
  bool right = true;
  for (const auto& [matrix, name] : {std::pair{csr, "CSR"}, std::pair{csc, "CSC"}, std::pair{coo, "COO"}}) {
    T* d_y = on_device(std::vector<T>(kRows, T(10)));
    cusparseDnVecDescr_t v_y;
    SPARSE(cusparseCreateDnVec(&v_y, kRows, d_y, type));
    size_t bytes = 0;
    SPARSE(cusparseSpMV_bufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &two, matrix, v_x, &half, v_y,
                                   type, CUSPARSE_SPMV_ALG_DEFAULT, &bytes));
    void* buffer;
    cudaMalloc(&buffer, bytes);
    SPARSE(cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &two, matrix, v_x, &half, v_y, type,
                        CUSPARSE_SPMV_ALG_DEFAULT, buffer));
    right = same(d_y, y, name) && right;
    SPARSE(cusparseSpMV(handle, CUSPARSE_OPERATION_TRANSPOSE, &one, matrix, v_long, &zero, v_turned, type,
                        CUSPARSE_SPMV_ALG_DEFAULT, buffer));
    right = same(d_turned, turned, name) && right;
    SPARSE(cusparseDestroyDnVec(v_y));
    cudaFree(buffer);
    cudaFree(d_y);
  }
  // b by rows, c by columns with room between them.
  std::vector<T> b(kColumns * kWide), c(kRows * kWide, T(0));
  for (int k = 0; k < kColumns * kWide; ++k) b[k] = T(k % 5) - 2;
  for (int i = 0; i < kRows; ++i)
    for (int w = 0; w < kWide; ++w)
      for (int j = 0; j < kColumns; ++j) c[w * kRows + i] += dense[i * kColumns + j] * b[j * kWide + w];
  T *d_b = on_device(b), *d_c;
  constexpr int kStep = kRows + 2;
  cudaMalloc(&d_c, kStep * kWide * sizeof(T));
  cusparseDnMatDescr_t m_b, m_c;
  SPARSE(cusparseCreateDnMat(&m_b, kColumns, kWide, kWide, d_b, type, CUSPARSE_ORDER_ROW));
  SPARSE(cusparseCreateDnMat(&m_c, kRows, kWide, kStep, d_c, type, CUSPARSE_ORDER_COL));
  SPARSE(cusparseSpMM(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, csr,
                      m_b, &zero, m_c, type, CUSPARSE_SPMM_ALG_DEFAULT, nullptr));
  for (int w = 0; w < kWide; ++w)
    right =
        same(d_c + w * kStep, std::vector<T>(c.begin() + w * kRows, c.begin() + (w + 1) * kRows), "SpMM") &&
        right;
  for (const void* p : {static_cast<const void*>(d_offsets), (const void*)d_columns, (const void*)d_rows,
                        (const void*)d_of_columns, (const void*)d_rows_by_column, (const void*)d_values,
                        (const void*)d_by_column, (const void*)d_x, (const void*)d_long_x,
                        (const void*)d_turned, (const void*)d_b, (const void*)d_c})
    cudaFree(const_cast<void*>(p));
  cusparseDestroyDnVec(v_x), cusparseDestroyDnVec(v_long), cusparseDestroyDnVec(v_turned);
  cusparseDestroyDnMat(m_b), cusparseDestroyDnMat(m_c);
  cusparseDestroySpMat(csr), cusparseDestroySpMat(csc), cusparseDestroySpMat(coo);
  return right ? 0 : 3;
}
int main() {
  cusparseHandle_t handle;
  SPARSE(cusparseCreate(&handle));
  const int floats = all<float>(handle, CUDA_R_32F), doubles = all<double>(handle, CUDA_R_64F);
  SPARSE(cusparseDestroy(handle));
  return floats != 0 ? floats : doubles;
}
