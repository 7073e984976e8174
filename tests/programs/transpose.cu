// A ladder of transposes, from a copy to a padded tile: one static array of shared memory each.
#include <vector>

#include "check.h"

constexpr int kTile = 32, kRows = 8;

__global__ void copied(float* out, const float* in, int w, int h) {
  const int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  for (int k = 0; k < kTile; k += kRows) out[(y + k) * w + x] = in[(y + k) * w + x];
}
__global__ void naive(float* out, const float* in, int w, int h) {
  const int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  for (int k = 0; k < kTile; k += kRows) out[x * h + y + k] = in[(y + k) * w + x];
}
template <int pad>
__global__ void tiled(float* out, const float* in, int w, int h) {
  __shared__ float tile[kTile][kTile + pad];
  int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  for (int k = 0; k < kTile; k += kRows) tile[threadIdx.y + k][threadIdx.x] = in[(y + k) * w + x];
  __syncthreads();
  x = blockIdx.y * kTile + threadIdx.x;
  y = blockIdx.x * kTile + threadIdx.y;
  for (int k = 0; k < kTile; k += kRows) out[(y + k) * h + x] = tile[threadIdx.x][threadIdx.y + k];
}

int main(int argc, char** argv) {
  const int w = argc > 1 ? std::atoi(argv[1]) : 128, h = argc > 2 ? std::atoi(argv[2]) : 64;
  std::vector<float> in(size_t(w) * h), out(in.size());
  for (size_t k = 0; k < in.size(); ++k) in[k] = float(k);
  float *a, *b;
  CHECK(cudaMalloc(&a, in.size() * 4));
  CHECK(cudaMalloc(&b, in.size() * 4));
  CHECK(cudaMemcpy(a, in.data(), in.size() * 4, cudaMemcpyHostToDevice));
  const dim3 grid(w / kTile, h / kTile), block(kTile, kRows);
  void (*const kernels[])(float*, const float*, int, int) = {copied, naive, tiled<0>, tiled<1>};
  for (int k = 0; k < 4; ++k) {
    CHECK(cudaMemset(b, 0, in.size() * 4));
    kernels[k]<<<grid, block>>>(b, a, w, h);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(out.data(), b, in.size() * 4, cudaMemcpyDeviceToHost));
    for (int y = 0; y < h; ++y)
      for (int x = 0; x < w; ++x)
        require_near(out[k == 0 ? size_t(y) * w + x : size_t(x) * h + y], in[size_t(y) * w + x], 0,
                     "an element");
  }
  cudaFree(a), cudaFree(b);
  std::printf("transpose passed\n");
}
