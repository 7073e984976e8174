// wrong: cusparseSpMV: column 4 of element 2 is none of 4
// A sparse matrix names a column that it does not have.
#include <cusparse.h>
int main() {
  const int offsets[3] = {0, 2, 3}, columns[3] = {0, 3, 4};
  const float values[3] = {1, 2, 3}, one = 1, zero = 0;
  int *o, *c;
  float *v, *x, *y;
  cudaMalloc(&o, sizeof offsets);
  cudaMalloc(&c, sizeof columns);
  cudaMalloc(&v, sizeof values);
  cudaMalloc(&x, 16);
  cudaMalloc(&y, 8);
  cudaMemcpy(o, offsets, sizeof offsets, cudaMemcpyHostToDevice);
  cudaMemcpy(c, columns, sizeof columns, cudaMemcpyHostToDevice);
  cudaMemcpy(v, values, sizeof values, cudaMemcpyHostToDevice);
  cudaMemset(x, 0, 16);
  cusparseHandle_t handle;
  cusparseSpMatDescr_t a;
  cusparseDnVecDescr_t of_x, of_y;
  cusparseCreate(&handle);
  cusparseCreateCsr(&a, 2, 4, 3, o, c, v, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                    CUDA_R_32F);
  cusparseCreateDnVec(&of_x, 4, x, CUDA_R_32F);
  cusparseCreateDnVec(&of_y, 2, y, CUDA_R_32F);
  const cusparseOperation_t plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
  const cusparseSpMVAlg_t any = CUSPARSE_SPMV_ALG_DEFAULT;
  cusparseSpMV(handle, plain, &one, a, of_x, &zero, of_y, CUDA_R_32F, any, nullptr);  // found
}
