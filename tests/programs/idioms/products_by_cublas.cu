// right
// flags: -lcublas -lcublasLt
// Every form of product against loops: types, transpositions, strides, lists, batches, epilogues, scalars on the device.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cmath>
#include <cstdio>
#include <vector>
template <class T>
struct Device {
  T* p;
  size_t n;
  explicit Device(const std::vector<T>& from) : n(from.size()) {
    cudaMalloc(&p, n * sizeof(T));
    cudaMemcpy(p, from.data(), n * sizeof(T), cudaMemcpyHostToDevice);
  }
  ~Device() { cudaFree(p); }
  std::vector<T> back() const {
    std::vector<T> all(n);
    cudaMemcpy(all.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost);
    return all;
  }
};
int wrong = 0;
void check(bool good, int line) {
  if (!good) std::printf("line %d\n", line), ++wrong;
}
#define CHECK(x) check(x, __LINE__)
template <class T>
std::vector<T> some(size_t n, int salt) {
  std::vector<T> all(n);
  for (size_t k = 0; k < n; ++k) all[k] = T(float(int(k * 7 + salt) % 9 - 4));
  return all;
}
constexpr int m = 5, n = 4, k = 3;
/// op(a) op(b) by loops; both are stored with one row more than they have.
template <class T>
double product(const std::vector<T>& a, bool at, const std::vector<T>& b, bool bt, int i, int j,
               int from = 0) {
  double sum = 0;
  for (int l = 0; l < k; ++l)
    sum += double(float(a[from + (at ? l + i * (k + 1) : i + l * (m + 1))])) *
           double(float(b[from + (bt ? j + l * (n + 1) : l + j * (k + 1))]));
  return sum;
}
template <class T, class F>
void all_forms(F gemm) {
  for (const int at : {0, 1})
    for (const int bt : {0, 1}) {
      const auto a = some<T>(24, 1), b = some<T>(24, 2), c = some<T>(m * n, 3);
      const Device<T> da(a), db(b), dc(c);
      const T alpha = T(2.0f), beta = T(-1.0f);
      CHECK(gemm(at ? CUBLAS_OP_T : CUBLAS_OP_N, bt ? CUBLAS_OP_T : CUBLAS_OP_N, &alpha, da.p,
                 at ? k + 1 : m + 1, db.p, bt ? n + 1 : k + 1, &beta, dc.p, m) == CUBLAS_STATUS_SUCCESS);
      const auto r = dc.back();
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j)
          CHECK(double(float(r[i + j * m])) == 2 * product(a, at, b, bt, i, j) - double(float(c[i + j * m])));
    }
}
int main() {
  cublasHandle_t h;
  CHECK(cublasCreate(&h) == CUBLAS_STATUS_SUCCESS);
  const auto S = [&](cublasOperation_t p, cublasOperation_t q, const float* x, const float* a, int la,
                     const float* b, int lb, const float* y, float* c,
                     int lc) { return cublasSgemm(h, p, q, m, n, k, x, a, la, b, lb, y, c, lc); };
  const auto D = [&](cublasOperation_t p, cublasOperation_t q, const double* x, const double* a, int la,
                     const double* b, int lb, const double* y, double* c,
                     int lc) { return cublasDgemm(h, p, q, m, n, k, x, a, la, b, lb, y, c, lc); };
  const auto H = [&](cublasOperation_t p, cublasOperation_t q, const __half* x, const __half* a, int la,
                     const __half* b, int lb, const __half* y, __half* c,
                     int lc) { return cublasHgemm(h, p, q, m, n, k, x, a, la, b, lb, y, c, lc); };
  const auto B = [&](cublasOperation_t p, cublasOperation_t q, const __nv_bfloat16* x, const __nv_bfloat16* a,
                     int la, const __nv_bfloat16* b, int lb, const __nv_bfloat16* y, __nv_bfloat16* c,
                     int lc) {
    const float alpha = float(*x), beta = float(*y);
    return cublasGemmEx(h, p, q, m, n, k, &alpha, a, CUDA_R_16BF, la, b, CUDA_R_16BF, lb, &beta, c,
                        CUDA_R_16BF, lc, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  };
  all_forms<float>(S), all_forms<double>(D), all_forms<__half>(H), all_forms<__nv_bfloat16>(B);
  {  // a batch by strides and by a list, factors on the device
    const auto a = some<float>(3 * 24, 1), b = some<float>(3 * 24, 2);
    const Device<float> da(a), db(b), dc(std::vector<float>(3 * m * n, NAN)), factors({2, 0});
    cublasSetPointerMode(h, CUBLAS_POINTER_MODE_DEVICE);
    CHECK(cublasSgemmStridedBatched(h, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, factors.p, da.p, m + 1, 24, db.p,
                                    k + 1, 24, factors.p + 1, dc.p, m, m * n, 3) == CUBLAS_STATUS_SUCCESS);
    cublasSetPointerMode(h, CUBLAS_POINTER_MODE_HOST);
    const Device<float> dd(std::vector<float>(3 * m * n, 0));
    const Device<const float*> la({da.p, da.p + 24, da.p + 48}), lb({db.p, db.p + 24, db.p + 48});
    const Device<float*> ld({dd.p, dd.p + m * n, dd.p + 2 * m * n});
    const float two = 2, zero = 0;
    CHECK(cublasSgemmBatched(h, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &two, la.p, m + 1, lb.p, k + 1, &zero,
                             ld.p, m, 3) == CUBLAS_STATUS_SUCCESS);
    const auto c = dc.back(), d = dd.back();
    for (int x = 0; x < 3; ++x)
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
          const float right = float(2 * product(a, false, b, false, i, j, x * 24));
          CHECK(c[x * m * n + i + j * m] == right && d[x * m * n + i + j * m] == right);
        }
  }
  {  // bytes into whole numbers, complex numbers with a conjugate
    const Device<signed char> a({1, 2, 3, 4}), b({5, 6, 7, 8});
    const Device<int> c({0, 0, 0, 0});
    const int one = 1, zero = 0;
    CHECK(cublasGemmEx(h, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a.p, CUDA_R_8I, 2, b.p, CUDA_R_8I, 2,
                       &zero, c.p, CUDA_R_32I, 2, CUBLAS_COMPUTE_32I,
                       CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS);
    CHECK((c.back() == std::vector<int>{23, 34, 31, 46}));
    using Numbers = std::vector<cuComplex>;
    const Device<cuComplex> x(Numbers{{1, 2}}), y(Numbers{{3, 4}}), z(Numbers{{0, 0}});
    const cuComplex i = {0, 1}, none = {0, 0};
    CHECK(cublasCgemm(h, CUBLAS_OP_C, CUBLAS_OP_N, 1, 1, 1, &i, x.p, 1, y.p, 1, &none, z.p, 1) ==
          CUBLAS_STATUS_SUCCESS);
    CHECK(z.back()[0].x == 2 && z.back()[0].y == 11);
    cuComplex dot;
    cublasCdotc(h, 1, x.p, 1, y.p, 1, &dot);
    CHECK(dot.x == 11 && dot.y == -2);
  }
  {  // vectors and matrices
    const Device<float> x({1, -5, 2, 0, 3}), y({1, 1, 1}), a({1, 2, 3, 4, 5, 6});
    float r = 0, two = 2, zero = 0, one = 1;
    int at = 0;
    cublasSdot(h, 3, x.p, 2, y.p, 1, &r), CHECK(r == 6);
    cublasSnrm2(h, 2, a.p + 2, 1, &r), CHECK(r == 5);
    cublasSasum(h, 5, x.p, 1, &r), CHECK(r == 11);
    cublasIsamax(h, 5, x.p, 1, &at), CHECK(at == 2);
    cublasIsamin(h, 5, x.p, 1, &at), CHECK(at == 4);
    cublasSaxpy(h, 3, &two, a.p, 1, y.p, 1), CHECK((y.back() == std::vector<float>{3, 5, 7}));
    cublasSscal(h, 2, &two, x.p, 1), cublasSswap(h, 1, x.p, 1, y.p, 1),
        CHECK(x.back()[0] == 3 && y.back()[0] == 2);
    const Device<float> v({1, 1, 1}), w({9, 9, 9});
    cublasSgemv(h, CUBLAS_OP_N, 2, 3, &one, a.p, 2, v.p, 1, &zero, w.p, 1),
        CHECK(w.back()[0] == 9 && w.back()[1] == 12);
    cublasSgemv(h, CUBLAS_OP_T, 2, 3, &one, a.p, 2, v.p, 1, &zero, w.p, 1);
    CHECK((w.back() == std::vector<float>{3, 7, 11}));
    const Device<float> t(std::vector<float>(6, 0));
    cublasSgeam(h, CUBLAS_OP_T, CUBLAS_OP_N, 3, 2, &one, a.p, 2, &zero, t.p, 3, t.p, 3);
    CHECK((t.back() == std::vector<float>{1, 3, 5, 2, 4, 6}));
    cublasSger(h, 2, 3, &one, v.p, 1, v.p, 1, a.p, 2), CHECK(a.back()[5] == 7);
    // [2 0; 3 4] x = [2; 11], and x [2 0; 3 4] = [11 8]; what lies above the diagonal is not read
    const Device<float> lower({2, 3, NAN, 4}), b({2, 11}), c({11, 8});
    cublasStrsm(h, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, 2, 1, &one,
                lower.p, 2, b.p, 2);
    CHECK((b.back() == std::vector<float>{1, 2}));
    cublasStrsm(h, CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, 1, 2, &one,
                lower.p, 2, c.p, 1);
    CHECK((c.back() == std::vector<float>{2.5f, 2}));
    const Device<float> s(std::vector<float>(4, 0));
    cublasSsymm(h, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, 2, 2, &one, lower.p, 2, lower.p, 2, &zero, s.p,
                2);
    CHECK(s.back()[0] == 13 && s.back()[1] == 18);
    cublasSsyrk(h, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, 2, 1, &one, b.p, 2, &zero, s.p, 2);
    CHECK(s.back()[0] == 1 && s.back()[1] == 18 && s.back()[3] == 4);
  }
  {  // bias and ReLU
    cublasLtHandle_t lt;
    cublasLtCreate(&lt);
    cublasLtMatmulDesc_t what;
    cublasLtMatmulDescCreate(&what, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    const cublasOperation_t turned = CUBLAS_OP_T;
    const cublasLtEpilogue_t then = CUBLASLT_EPILOGUE_RELU_BIAS;
    const Device<float> a({1, 2, 3, 4}), b({1, 0, 0, 1}), bias({-2, 1}), d(std::vector<float>(4, 0));
    const float* where = bias.p;
    cublasLtMatmulDescSetAttribute(what, CUBLASLT_MATMUL_DESC_TRANSA, &turned, sizeof turned);
    cublasLtMatmulDescSetAttribute(what, CUBLASLT_MATMUL_DESC_EPILOGUE, &then, sizeof then);
    cublasLtMatmulDescSetAttribute(what, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &where, sizeof where);
    cublasLtMatrixLayout_t square;
    cublasLtMatrixLayoutCreate(&square, CUDA_R_32F, 2, 2, 2);
    const float one = 1, zero = 0;
    CHECK(cublasLtMatmul(lt, what, &one, a.p, square, b.p, square, &zero, d.p, square, d.p, square, nullptr,
                         nullptr, 0, nullptr) == CUBLAS_STATUS_SUCCESS);
    CHECK((d.back() == std::vector<float>{0, 4, 0, 5}));
    cublasLtMatrixLayoutDestroy(square), cublasLtMatmulDescDestroy(what), cublasLtDestroy(lt);
  }
  cublasDestroy(h);
  CHECK(cublasSetStream(h, nullptr) == CUBLAS_STATUS_NOT_INITIALIZED);
  return wrong;
}
