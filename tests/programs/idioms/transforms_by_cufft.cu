// right
// cuFFT in its forms, against sums as they are defined: one to three dimensions, batches, strides, real numbers, in place.
#include <cufft.h>

#include <cmath>
#include <complex>
#include <cstdio>
#include <vector>

using C = std::complex<double>;
int failures = 0;
void good(const char* what, bool is) {
  if (!is) std::printf("%s is wrong\n", what), ++failures;
}
#define OK(call) good(#call, (call) == CUFFT_SUCCESS)

/// The transform of nx x ny x nz numbers, not scaled.
std::vector<C> sums(const std::vector<C>& x, int nx, int ny, int nz, int sign) {
  std::vector<C> y(x.size());
  for (int u = 0; u < nx; ++u)
    for (int v = 0; v < ny; ++v)
      for (int w = 0; w < nz; ++w)
        for (int i = 0; i < nx; ++i)
          for (int j = 0; j < ny; ++j)
            for (int k = 0; k < nz; ++k)
              y[size_t((u * ny + v) * nz + w)] +=
                  x[size_t((i * ny + j) * nz + k)] *
                  std::polar(
                      1.0, sign * 2 * M_PI * (double(u * i) / nx + double(v * j) / ny + double(w * k) / nz));
  return y;
}
unsigned state = 1;
double random_number() { return double((state = state * 1664525u + 1013904223u) >> 8) / (1 << 24) - 0.5; }
std::vector<C> numbers(int n, bool real) {
  std::vector<C> x((size_t(n)));
  for (C& v : x) v = {random_number(), real ? 0 : random_number()};
  return x;
}
template <class T>
T* on_device(const std::vector<T>& v) {
  T* p;
  cudaMalloc(&p, v.size() * sizeof(T));
  cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice);
  return p;
}
template <class T>
std::vector<T> back(T* p, size_t n) {
  std::vector<T> v(n);
  cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost);
  return v;
}
bool near(C a, C b, double bound) { return std::abs(a - b) <= bound; }

void complex_numbers(int nx, int ny, int nz, int direction) {
  const int n = nx * ny * nz;
  const auto x = numbers(n, false), y = sums(x, nx, ny, nz, direction);
  std::vector<cufftComplex> f;
  std::vector<cufftDoubleComplex> d;
  for (C v : x) f.push_back({float(v.real()), float(v.imag())}), d.push_back({v.real(), v.imag()});
  cufftHandle single, twice;
  if (nx > 1) {
    OK(cufftPlan3d(&single, nx, ny, nz, CUFFT_C2C)), OK(cufftPlan3d(&twice, nx, ny, nz, CUFFT_Z2Z));
  } else if (ny > 1) {
    OK(cufftPlan2d(&single, ny, nz, CUFFT_C2C)), OK(cufftPlan2d(&twice, ny, nz, CUFFT_Z2Z));
  } else {
    OK(cufftPlan1d(&single, nz, CUFFT_C2C, 1)), OK(cufftPlan1d(&twice, nz, CUFFT_Z2Z, 1));
  }
  cufftComplex *from = on_device(f), *to;
  cudaMalloc(&to, size_t(n) * sizeof *to);
  cufftDoubleComplex* all = on_device(d);
  OK(cufftExecC2C(single, from, to, direction));
  OK(cufftExecZ2Z(twice, all, all, direction));  // in place
  const auto a = back(to, size_t(n));
  const auto b = back(all, size_t(n));
  for (size_t k = 0; k < size_t(n); ++k) {
    good("C2C", near({a[k].x, a[k].y}, y[k], 2e-6 * n));
    good("Z2Z", near({b[k].x, b[k].y}, y[k], 1e-12 * n));
  }
  OK(cufftDestroy(single)), OK(cufftDestroy(twice));
  good("a destroyed plan", cufftExecC2C(single, from, to, direction) == CUFFT_INVALID_PLAN);
  cudaFree(from), cudaFree(to), cudaFree(all);
}

/// Rows of real numbers in batches, forth and back; in place the rows are padded.
void real_numbers(int n, int batch, bool in_place) {
  const int half = n / 2 + 1, row = in_place ? 2 * half : n;
  std::vector<double> x(size_t(row) * batch, 0.0);
  std::vector<std::vector<C>> want;
  for (int b = 0; b < batch; ++b) {
    const auto one = numbers(n, true);
    want.push_back(sums(one, 1, 1, n, CUFFT_FORWARD));
    for (int k = 0; k < n; ++k) x[size_t(b * row + k)] = one[size_t(k)].real();
  }
  double* from = on_device(x);
  cufftDoubleComplex* to = reinterpret_cast<cufftDoubleComplex*>(from);
  if (!in_place) cudaMalloc(&to, size_t(half) * batch * sizeof *to);
  cufftHandle forth, again;
  OK(cufftPlan1d(&forth, n, CUFFT_D2Z, batch));
  OK(cufftPlan1d(&again, n, CUFFT_Z2D, batch));
  OK(cufftExecD2Z(forth, from, to));
  const auto y = back(to, size_t(half) * batch);
  for (int b = 0; b < batch; ++b)
    for (int k = 0; k < half; ++k) {
      const auto v = y[size_t(b * half + k)];
      good("D2Z", near({v.x, v.y}, want[size_t(b)][size_t(k)], 1e-12 * n));
    }
  OK(cufftExecZ2D(again, to, from));
  const auto z = back(from, x.size());
  for (int b = 0; b < batch; ++b)
    for (int k = 0; k < n; ++k)
      good("Z2D", std::abs(z[size_t(b * row + k)] - n * x[size_t(b * row + k)]) < 1e-12 * n);  // not scaled
  OK(cufftDestroy(forth)), OK(cufftDestroy(again));
  if (!in_place) cudaFree(to);
  cudaFree(from);
}

/// Columns of a matrix: elements a row apart, batches one element apart. And an image of real numbers.
void strides() {
  const int rows = 12, columns = 5;
  const auto x = numbers(rows * columns, false);
  std::vector<cufftComplex> f;
  for (C v : x) f.push_back({float(v.real()), float(v.imag())});
  cufftComplex* p = on_device(f);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cufftHandle plan;
  size_t work = 1;
  int n[] = {rows}, embed[] = {rows};
  OK(cufftCreate(&plan));
  OK(cufftMakePlanMany(plan, 1, n, embed, columns, 1, embed, columns, 1, CUFFT_C2C, columns, &work));
  OK(cufftSetStream(plan, stream));
  cudaDeviceSynchronize();
  OK(cufftExecC2C(plan, p, p, CUFFT_INVERSE));
  cudaStreamSynchronize(stream);
  const auto y = back(p, f.size());
  for (int c = 0; c < columns; ++c) {
    std::vector<C> column;
    for (int r = 0; r < rows; ++r) column.push_back(x[size_t(r * columns + c)]);
    const auto want = sums(column, 1, 1, rows, CUFFT_INVERSE);
    for (int r = 0; r < rows; ++r) {
      const auto v = y[size_t(r * columns + c)];
      good("columns", near({v.x, v.y}, want[size_t(r)], 1e-4));
    }
  }
  OK(cufftDestroy(plan));
  cudaStreamDestroy(stream);
  cudaFree(p);

  const int h = 6, w = 10, half = w / 2 + 1;
  const auto image = numbers(h * w, true), want = sums(image, 1, h, w, CUFFT_FORWARD);
  std::vector<float> reals;
  for (C v : image) reals.push_back(float(v.real()));
  float* from = on_device(reals);
  cufftComplex* to;
  cudaMalloc(&to, sizeof(cufftComplex) * h * half);
  cufftHandle forth, again;
  OK(cufftPlan2d(&forth, h, w, CUFFT_R2C)), OK(cufftPlan2d(&again, h, w, CUFFT_C2R));
  OK(cufftExecR2C(forth, from, to));
  const auto spectrum = back(to, size_t(h) * half);
  for (int u = 0; u < h; ++u)
    for (int v = 0; v < half; ++v) {
      const auto s = spectrum[size_t(u * half + v)];
      good("R2C", near({s.x, s.y}, want[size_t(u * w + v)], 1e-4));
    }
  OK(cufftExecC2R(again, to, from));
  const auto same = back(from, reals.size());
  for (size_t k = 0; k < same.size(); ++k) good("C2R", std::abs(same[k] - h * w * reals[k]) < 1e-3);
  OK(cufftDestroy(forth)), OK(cufftDestroy(again));
  cudaFree(from), cudaFree(to);
}

int main() {
  for (int direction : {CUFFT_FORWARD, CUFFT_INVERSE})
    for (int n : {1, 2, 7, 16, 31, 60}) complex_numbers(1, 1, n, direction);
  complex_numbers(1, 9, 8, CUFFT_FORWARD);
  complex_numbers(4, 3, 10, CUFFT_FORWARD);
  complex_numbers(2, 5, 6, CUFFT_INVERSE);
  for (int n : {8, 15}) real_numbers(n, 3, false), real_numbers(n, 3, true);
  strides();
  cufftHandle plan = 12345;
  int wrong[] = {4, 4, 4, 4};
  good("no size", cufftPlan1d(&plan, 0, CUFFT_C2C, 1) == CUFFT_INVALID_SIZE);
  good("no batch", cufftPlan1d(&plan, 8, CUFFT_C2C, 0) == CUFFT_INVALID_SIZE);
  good("no type", cufftPlan1d(&plan, 8, cufftType(1), 1) == CUFFT_INVALID_TYPE);
  good("four dimensions",
       cufftPlanMany(&plan, 4, wrong, nullptr, 1, 0, nullptr, 1, 0, CUFFT_C2C, 1) == CUFFT_INVALID_VALUE);
  good("no plan", cufftExecC2C(12345, nullptr, nullptr, CUFFT_FORWARD) == CUFFT_INVALID_PLAN);
  good("no plan to destroy", cufftDestroy(12345) == CUFFT_INVALID_PLAN);
  OK(cufftPlan1d(&plan, 8, CUFFT_C2C, 1));
  cufftComplex* p;
  cudaMalloc(&p, 8 * sizeof *p);
  good("no direction", cufftExecC2C(plan, p, p, 0) == CUFFT_INVALID_VALUE);
  good("no input", cufftExecC2C(plan, nullptr, p, CUFFT_FORWARD) == CUFFT_INVALID_VALUE);
  OK(cufftDestroy(plan));
  cudaFree(p);
  return failures != 0;
}
