// right
// LU factors, inverses and solutions of a batch, products with vectors of a batch, rotations, and a sum of a vector's products.
#include <cublas_v2.h>

#include <cmath>
#include <cstdio>

constexpr int kN = 3, kBatch = 2;
int failures = 0;
#define IS(condition) \
  if (!(condition)) std::printf("line %d: %s\n", __LINE__, #condition), ++failures;
template <class T>
T* device(const T* values, int count) {
  T* p = nullptr;
  cudaMalloc(&p, count * sizeof(T));
  cudaMemcpy(p, values, count * sizeof(T), cudaMemcpyHostToDevice);
  return p;
}
template <class T>
void host(T* values, const T* p, int count) {
  cudaMemcpy(values, p, count * sizeof(T), cudaMemcpyDeviceToHost);
}
bool near(double a, double b) { return std::fabs(a - b) < 1e-5; }

int main() {
  // By columns. The first needs an exchange of rows, the second is singular.
  const float a[kBatch][kN * kN] = {{0, 2, 1, 1, 1, 0, 3, 2, 5}, {1, 2, 3, 2, 4, 6, 1, 0, 1}};
  float *d = device(&a[0][0], kBatch * kN * kN), *c = device(&a[0][0], kBatch * kN * kN);
  float* list[kBatch] = {d, d + kN * kN};
  float* list_c[kBatch] = {c, c + kN * kN};
  float **as = device(list, kBatch), **cs = device(list_c, kBatch);
  int *pivots = nullptr, *info = nullptr, h_info[kBatch], h_pivots[kN];
  cudaMalloc(&pivots, kBatch * kN * sizeof(int));
  cudaMalloc(&info, kBatch * sizeof(int));
  cublasHandle_t handle;
  cublasCreate(&handle);
  IS(cublasSmatinvBatched(handle, kN, as, kN, cs, kN, info, kBatch) == CUBLAS_STATUS_SUCCESS);
  float by_matinv[kN * kN], inverse[kN * kN];
  host(by_matinv, c, kN * kN);
  IS(cublasSgetrfBatched(handle, kN, as, kN, pivots, info, kBatch) == CUBLAS_STATUS_SUCCESS);
  host(h_info, info, kBatch);
  host(h_pivots, pivots, kN);
  IS(h_info[0] == 0 && h_info[1] != 0 && h_pivots[0] == 2);
  IS(cublasSgetriBatched(handle, kN, as, kN, pivots, cs, kN, info, 1) == CUBLAS_STATUS_SUCCESS);
  host(inverse, c, kN * kN);
  for (int i = 0; i < kN; ++i)
    for (int j = 0; j < kN; ++j) {
      float sum = 0;
      for (int k = 0; k < kN; ++k) sum += a[0][i + k * kN] * inverse[k + j * kN];
      IS(near(sum, i == j) && near(inverse[i + j * kN], by_matinv[i + j * kN]));
    }
  // A x = b and A^T x = b with x = (1, 2, 3).
  for (const cublasOperation_t op : {CUBLAS_OP_N, CUBLAS_OP_T}) {
    float b[kN] = {};
    for (int i = 0; i < kN; ++i)
      for (int k = 0; k < kN; ++k)
        b[i] += (op == CUBLAS_OP_N ? a[0][i + k * kN] : a[0][k + i * kN]) * float(k + 1);
    float* x = device(b, kN);
    float* list_x[1] = {x};
    float** xs = device(list_x, 1);
    int wrong = -1;
    IS(cublasSgetrsBatched(handle, op, kN, 1, as, kN, pivots, xs, kN, &wrong, 1) == CUBLAS_STATUS_SUCCESS &&
       wrong == 0);
    host(b, x, kN);
    IS(near(b[0], 1) && near(b[1], 2) && near(b[2], 3));
    cudaFree(x), cudaFree(xs);
  }
  // Products of two matrices with two vectors, by list and by stride.
  const double m[8] = {1, 2, 3, 4, 5, 6, 7, 8}, v[4] = {1, 1, 2, 0}, one = 1, zero = 0;
  double *dm = device(m, 8), *dv = device(v, 4), *dy = device(v, 4), got[4];
  double *lm[2] = {dm, dm + 4}, *lv[2] = {dv, dv + 2}, *ly[2] = {dy, dy + 2};
  double **ms = device(lm, 2), **vs = device(lv, 2), **ys = device(ly, 2);
  IS(cublasDgemvBatched(handle, CUBLAS_OP_N, 2, 2, &one, ms, 2, vs, 1, &zero, ys, 1, 2) ==
     CUBLAS_STATUS_SUCCESS);
  host(got, dy, 4);
  IS(got[0] == 4 && got[1] == 6 && got[2] == 10 && got[3] == 12);
  IS(cublasDgemvStridedBatched(handle, CUBLAS_OP_T, 2, 2, &one, dm, 2, 4, dv, 1, 2, &one, dy, 1, 2, 2) ==
     CUBLAS_STATUS_SUCCESS);
  host(got, dy, 4);
  IS(got[0] == 7 && got[1] == 13 && got[2] == 20 && got[3] == 26);
  const double two = 2;
  IS(cublasDtrsmBatched(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT,
                        2, 1, &two, ms, 2, vs, 2, 2) == CUBLAS_STATUS_SUCCESS);
  host(got, dv, 4);
  IS(got[0] == 2 && got[1] == -0.5 && near(got[2], 0.8) && near(got[3], -0.6));
  IS(cublasDsyr(handle, CUBLAS_FILL_MODE_UPPER, 2, &two, dy, 1, dm, 2) == CUBLAS_STATUS_SUCCESS);
  host(got, dm, 4);
  IS(got[0] == 1 + 2 * 49 && got[1] == 2 && got[2] == 3 + 2 * 7 * 13 && got[3] == 4 + 2 * 169);
  float p = 3, q = 4, cosine = 0, sine = 0;
  IS(cublasSrotg(handle, &p, &q, &cosine, &sine) == CUBLAS_STATUS_SUCCESS && p == 5 && cosine == 0.6f &&
     sine == 0.8f);
  const float pair[2] = {3, 4};
  float *px = device(pair, 1), *py = device(pair + 1, 1), turned[2];
  IS(cublasSrot(handle, 1, px, 1, py, 1, &cosine, &sine) == CUBLAS_STATUS_SUCCESS);
  host(turned, px, 1);
  host(turned + 1, py, 1);
  IS(near(turned[0], 5) && near(turned[1], 0));
  cublasDestroy(handle);
  for (void* memory : {(void*)d, (void*)c, (void*)as, (void*)cs, (void*)pivots, (void*)info, (void*)dm,
                       (void*)dv, (void*)dy, (void*)ms, (void*)vs, (void*)ys, (void*)px, (void*)py})
    cudaFree(memory);
  return failures != 0;
}
