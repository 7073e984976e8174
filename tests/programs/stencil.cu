// A stencil whose neighbors come through textures: linear memory by index, an array by coordinates, with clamped borders and
// with linear filtering.
#include <vector>

#include "check.h"

__global__ void three_points(cudaTextureObject_t t, float* out, int n) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < n) out[k] = tex1Dfetch<float>(t, k - 1) + tex1Dfetch<float>(t, k) + tex1Dfetch<float>(t, k + 1);
}
__global__ void five_points(cudaTextureObject_t t, float* out, int w, int h) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  const float fx = x + 0.5f, fy = y + 0.5f;
  out[y * w + x] = tex2D<float>(t, fx, fy) + tex2D<float>(t, fx - 1, fy) + tex2D<float>(t, fx + 1, fy) +
                   tex2D<float>(t, fx, fy - 1) + tex2D<float>(t, fx, fy + 1);
}
__global__ void between(cudaTextureObject_t t, float* out) {
  out[threadIdx.x] = tex2D<float>(t, threadIdx.x + 1.0f, 0.5f);  // half way between two texels
}

int main() {
  const int w = 40, h = 24, n = w * h;
  std::vector<float> in(n), out(n);
  for (int k = 0; k < n; ++k) in[k] = float(k * 5 % 17);
  float *linear, *result;
  CHECK(cudaMalloc(&linear, n * 4));
  CHECK(cudaMalloc(&result, n * 4));
  CHECK(cudaMemcpy(linear, in.data(), n * 4, cudaMemcpyHostToDevice));
  cudaResourceDesc from = {};
  from.resType = cudaResourceTypeLinear;
  from.res.linear.devPtr = linear;
  from.res.linear.desc = cudaCreateChannelDesc<float>();
  from.res.linear.sizeInBytes = n * 4;
  cudaTextureDesc how = {};
  how.readMode = cudaReadModeElementType;
  cudaTextureObject_t line = 0, plane = 0, smooth = 0;
  CHECK(cudaCreateTextureObject(&line, &from, &how, nullptr));
  three_points<<<(n + 127) / 128, 128>>>(line, result, n);
  CHECK(cudaMemcpy(out.data(), result, n * 4, cudaMemcpyDeviceToHost));
  const auto at = [&](int k) {
    return k < 0 || k >= n ? 0.0f : in[k];
  };  // beyond its ends a linear texture is zero
  for (int k = 0; k < n; ++k) require_near(out[k], at(k - 1) + at(k) + at(k + 1), 0, "a sum of three");

  cudaArray_t array;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
  CHECK(cudaMallocArray(&array, &format, w, h));
  CHECK(cudaMemcpy2DToArray(array, 0, 0, in.data(), w * 4, w * 4, h, cudaMemcpyHostToDevice));
  from = {};
  from.resType = cudaResourceTypeArray;
  from.res.array.array = array;
  how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
  CHECK(cudaCreateTextureObject(&plane, &from, &how, nullptr));
  how.filterMode = cudaFilterModeLinear;
  CHECK(cudaCreateTextureObject(&smooth, &from, &how, nullptr));
  five_points<<<dim3((w + 15) / 16, (h + 7) / 8), dim3(16, 8)>>>(plane, result, w, h);
  CHECK(cudaMemcpy(out.data(), result, n * 4, cudaMemcpyDeviceToHost));
  const auto clamped = [&](int x, int y) {
    return in[(y < 0 ? 0 : y >= h ? h - 1 : y) * w + (x < 0 ? 0 : x >= w ? w - 1 : x)];
  };
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < w; ++x)
      require_near(
          out[y * w + x],
          clamped(x, y) + clamped(x - 1, y) + clamped(x + 1, y) + clamped(x, y - 1) + clamped(x, y + 1), 0,
          "a sum of five");
  between<<<1, w - 1>>>(smooth, result);
  CHECK(cudaMemcpy(out.data(), result, (w - 1) * 4, cudaMemcpyDeviceToHost));
  for (int x = 0; x + 1 < w; ++x) require_near(out[x], 0.5 * (in[x] + in[x + 1]), 0, "a mean of two");
  for (cudaTextureObject_t t : {line, plane, smooth}) CHECK(cudaDestroyTextureObject(t));
  CHECK(cudaFreeArray(array));
  CHECK(cudaFree(linear));
  CHECK(cudaFree(result));
  std::printf("stencil passed\n");
}
