// right
// flags: -lcurand
// Philox4x32-10 by the vectors of its authors (Random123, kat_vectors), MRG32k3a by the first numbers of its author's
// program, jumps against steps, and the distributions by their mean and variance.
#include <curand.h>
#include <curand_kernel.h>
#include <cmath>
#include <cstdio>
__global__ void draw(unsigned* philox, double* mrg, unsigned* jumped) {
  curandStatePhilox4_32_10_t s;
  const int i = threadIdx.x;
  curand_init(0, 0, 0, &s);
  for (int k = 0; k < 4; ++k) philox[4 * i + k] = curand(&s);
  curandStateMRG32k3a_t m;
  curand_init(0, 0, 0, &m);
  for (int k = 0; k < 3; ++k) mrg[3 * i + k] = curand_uniform_double(&m);
  curand_init(5, i, 0, &m);
  for (int k = 0; k < 100 + i; ++k) curand(&m);
  jumped[4 * i] = curand(&m);
  curand_init(5, i, 100 + i, &m);
  jumped[4 * i + 1] = curand(&m);
  curand_init(9, i, 0, &s);
  for (int k = 0; k < 7 + i; ++k) curand(&s);
  jumped[4 * i + 2] = curand(&s);
  curand_init(9, i, 7 + i, &s);
  jumped[4 * i + 3] = curand(&s);
}
__global__ void normal(curandState* states, float* x, int each) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  curand_init(1234, i, 0, states + i);
  curandState mine = states[i];
  for (int k = 0; k < each; ++k) x[i * each + k] = curand_normal(&mine);
  states[i] = mine;
}
int wrong = 0;
void check(bool good, int line) {
  if (!good) std::printf("line %d\n", line), ++wrong;
}
#define CHECK(x) check(x, __LINE__)
void moments(const float* x, int n, double mean, double variance, int line) {
  double sum = 0, squares = 0;
  for (int k = 0; k < n; ++k) sum += x[k], squares += double(x[k]) * x[k];
  const double m = sum / n, v = squares / n - m * m;
  check(std::fabs(m - mean) < 5 * std::sqrt(variance / n) && std::fabs(v - variance) < 0.1 * variance, line);
}
int main() {
  const uint4 ones = {~0u, ~0u, ~0u, ~0u};
  const uint4 r = klab::program::random::philox(ones, uint2{~0u, ~0u});
  CHECK(r.x == 0x408f276d && r.y == 0x41c83b0e && r.z == 0xa20bc7c6 && r.w == 0x6d5451fd);
  const uint4 pi = {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344};
  const uint4 q = klab::program::random::philox(pi, uint2{0xa4093822, 0x299f31d0});
  CHECK(q.x == 0xd16cfe09 && q.y == 0x94fdcceb && q.z == 0x5001e420 && q.w == 0x24126ea1);
  unsigned *p, *j, hp[128], hj[128];
  double *m, hm[96];
  cudaMalloc(&p, sizeof hp), cudaMalloc(&j, sizeof hj), cudaMalloc(&m, sizeof hm);
  draw<<<1, 32>>>(p, m, j);
  cudaMemcpy(hp, p, sizeof hp, cudaMemcpyDeviceToHost), cudaMemcpy(hj, j, sizeof hj, cudaMemcpyDeviceToHost);
  cudaMemcpy(hm, m, sizeof hm, cudaMemcpyDeviceToHost);
  CHECK(hp[0] == 0x6627e8d5 && hp[1] == 0xe169c58d && hp[2] == 0xbc57ac4c && hp[127] == 0x9b00dbd8);
  CHECK(std::fabs(hm[0] - 0.127011122046577) < 1e-14 && std::fabs(hm[1] - 0.3185275653967945) < 1e-14);
  for (int k = 0; k < 32; ++k) CHECK(hj[4 * k] == hj[4 * k + 1] && hj[4 * k + 2] == hj[4 * k + 3]);
  CHECK(hj[0] != hj[4] && hj[2] != hj[6]);
  const int n = 4096;
  static float x[n];
  float* d;
  curandState* states;
  cudaMalloc(&d, sizeof x), cudaMalloc(&states, 128 * sizeof *states);
  normal<<<4, 32>>>(states, d, n / 128);
  cudaMemcpy(x, d, sizeof x, cudaMemcpyDeviceToHost);
  moments(x, n, 0, 1, __LINE__);
  for (const curandRngType_t type :
       {CURAND_RNG_PSEUDO_DEFAULT, CURAND_RNG_PSEUDO_PHILOX4_32_10, CURAND_RNG_PSEUDO_MRG32K3A}) {
    curandGenerator_t g;
    CHECK(curandCreateGenerator(&g, type) == CURAND_STATUS_SUCCESS);
    curandSetPseudoRandomGeneratorSeed(g, 77);
    CHECK(curandGenerateUniform(g, d, n) == CURAND_STATUS_SUCCESS);
    cudaMemcpy(x, d, sizeof x, cudaMemcpyDeviceToHost);
    moments(x, n, 0.5, 1.0 / 12, __LINE__);
    CHECK(curandGenerateNormal(g, d, n, 3, 2) == CURAND_STATUS_SUCCESS);
    cudaMemcpy(x, d, sizeof x, cudaMemcpyDeviceToHost);
    moments(x, n, 3, 4, __LINE__);
    CHECK(curandGenerateNormal(g, d, 7, 3, 2) == CURAND_STATUS_LENGTH_NOT_MULTIPLE);
    CHECK(curandDestroyGenerator(g) == CURAND_STATUS_SUCCESS);
  }
  curandGenerator_t of_host;
  curandCreateGeneratorHost(&of_host, CURAND_RNG_PSEUDO_PHILOX4_32_10);
  curandGenerateUniform(of_host, x, n);
  moments(x, n, 0.5, 1.0 / 12, __LINE__);
  curandDestroyGenerator(of_host);
  cudaFree(p), cudaFree(j), cudaFree(m), cudaFree(d), cudaFree(states);
  return wrong;
}
