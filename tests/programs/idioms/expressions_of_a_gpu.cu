// right
// Expressions that C++ leaves open, or a processor computes otherwise, and a GPU defines.
#include <cmath>
#include <cstdio>
struct Word {
  unsigned long long bits;
};
template <class T>
__device__ T moved(T x, int by) {
  return by < 0 ? x >> -by : x << by;
}
__global__ void shifts(const int* by, unsigned* u, int* s, unsigned long long* wide) {
  const int k = threadIdx.x, n = by[k];
  u[k] = 0xF0000001u << n;
  u[8 + k] = 0xF0000001u >> n;
  s[k] = int(0x80000000u) >> n;
  wide[k] = 0x8000000000000001ull << n;
  wide[8 + k] = 0x8000000000000001ull >> n;
  u[16 + k] = moved(1u, n);
  unsigned char narrow = 0x81;
  narrow <<= n;
  u[24 + k] = narrow;
  Word word{1};
  word.bits <<= n;
  word.bits >>= n;
  wide[16 + k] = word.bits;
  enum { kMask = (1 << 4) - 1 };
  s[8 + k] = (1 << (n & kMask)) - 1;
}
__global__ void conversions(const float* x, int* i, unsigned* u, long long* l, float* low, float* high) {
  const int k = threadIdx.x;
  i[k] = __float2int_rz(x[k]);
  u[k] = __float2uint_rz(x[k]);
  l[k] = __float2ll_rz(x[k]);
  low[k] = fminf(x[k], 1.0f);
  high[k] = max(x[k], 1.0f);
}
template <class T>
T* on_device(const T* from, int n) {
  T* p;
  cudaMalloc(&p, n * sizeof(T));
  if (from != nullptr)
    cudaMemcpy(p, from, n * sizeof(T), cudaMemcpyHostToDevice);
  else
    cudaMemset(p, 0, n * sizeof(T));
  return p;
}
template <class T>
void to_host(T* to, T* from, int n) {
  cudaMemcpy(to, from, n * sizeof(T), cudaMemcpyDeviceToHost);
  cudaFree(from);
}
int wrong = 0;
template <class T>
void expect(const char* what, int k, T is, T wanted) {
  if (is == wanted) return;
  ++wrong;
  std::printf("%s of %d: %llx, not %llx\n", what, k, (unsigned long long)is, (unsigned long long)wanted);
}
int main() {
  const int by[8] = {0, 1, 31, 32, 33, 63, 64, 100};
  unsigned u[32];
  int s[16];
  unsigned long long wide[24];
  int* d_by = on_device(by, 8);
  unsigned* d_u = on_device<unsigned>(nullptr, 32);
  int* d_s = on_device<int>(nullptr, 16);
  auto* d_wide = on_device<unsigned long long>(nullptr, 24);
  shifts<<<1, 8>>>(d_by, d_u, d_s, d_wide);
  to_host(u, d_u, 32);
  to_host(s, d_s, 16);
  to_host(wide, d_wide, 24);
  for (int k = 0; k < 8; ++k) {
    const int n = by[k];
    const bool in32 = n < 32, in64 = n < 64;
    expect("left", n, u[k], in32 ? 0xF0000001u << n : 0u);
    expect("right", n, u[8 + k], in32 ? 0xF0000001u >> n : 0u);
    expect("signed right", n, s[k], in32 ? int(0x80000000u) >> n : -1);
    expect("wide left", n, wide[k], in64 ? 0x8000000000000001ull << n : 0ull);
    expect("wide right", n, wide[8 + k], in64 ? 0x8000000000000001ull >> n : 0ull);
    expect("in a template", n, u[16 + k], in32 ? 1u << n : 0u);
    expect("narrow", n, u[24 + k], in32 ? (0x81u << n & 0xFFu) : 0u);
    expect("assigned", n, wide[16 + k], in64 ? 1ull : 0ull);
    expect("constant", n, s[8 + k], (1 << (n & 15)) - 1);
  }
  cudaFree(d_by);
  const float x[6] = {NAN, 3e9f, -3e9f, 1e30f, -7.9f, 2.5f};
  int i[6];
  unsigned v[6];
  long long l[6];
  float low[6], high[6];
  float* d_x = on_device(x, 6);
  int* d_i = on_device<int>(nullptr, 6);
  unsigned* d_v = on_device<unsigned>(nullptr, 6);
  long long* d_l = on_device<long long>(nullptr, 6);
  float *d_low = on_device<float>(nullptr, 6), *d_high = on_device<float>(nullptr, 6);
  conversions<<<1, 6>>>(d_x, d_i, d_v, d_l, d_low, d_high);
  to_host(i, d_i, 6);
  to_host(v, d_v, 6);
  to_host(l, d_l, 6);
  to_host(low, d_low, 6);
  to_host(high, d_high, 6);
  cudaFree(d_x);
  const int wanted_i[6] = {0, 0x7FFFFFFF, int(0x80000000u), 0x7FFFFFFF, -7, 2};
  const unsigned wanted_u[6] = {0, 3000000000u, 0, 0xFFFFFFFFu, 0, 2};
  const long long wanted_l[6] = {
      (long long)0x8000000000000000ull, 3000000000ll, -3000000000ll, 0x7FFFFFFFFFFFFFFFll, -7, 2};
  for (int k = 0; k < 6; ++k) {
    expect("to int", k, i[k], wanted_i[k]);
    expect("to unsigned", k, v[k], wanted_u[k]);
    expect("to long long", k, l[k], wanted_l[k]);
  }
  expect("minimum of NaN", 0, low[0] == 1.0f, true);
  expect("maximum of NaN", 0, high[0] == 1.0f, true);
  return wrong == 0 ? 0 : 3;
}
