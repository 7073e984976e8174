// right
// All 256 numbers of both formats there and back, rounding to the nearest even, and what is too large.
#include <cuda_fp8.h>
#include <cmath>
__global__ void there_and_back(unsigned char* bits, float* value) {
  const auto i = (unsigned char)threadIdx.x;
  __nv_fp8_e4m3 a;
  a.__x = i;
  __nv_fp8_e5m2 b;
  b.__x = i;
  value[2 * i] = float(a);
  value[2 * i + 1] = __half2float(__half(__nv_cvt_fp8_to_halfraw(i, __NV_E5M2)));
  bits[2 * i] = __nv_fp8_e4m3(float(a)).__x;
  bits[2 * i + 1] = __nv_cvt_halfraw_to_fp8(__half(float(b)), __NV_NOSAT, __NV_E5M2);
}
int main() {
  unsigned char *bits, b[512];
  float *value, v[512];
  cudaMalloc(&bits, sizeof b), cudaMalloc(&value, sizeof v);
  there_and_back<<<1, 256>>>(bits, value);
  cudaMemcpy(b, bits, sizeof b, cudaMemcpyDeviceToHost),
      cudaMemcpy(v, value, sizeof v, cudaMemcpyDeviceToHost);
  cudaFree(bits), cudaFree(value);
  int wrong = 0;
  for (int i = 0; i < 512; ++i) wrong += std::isnan(v[i]) ? b[i] != 0x7F : b[i] != i / 2;
  wrong += v[2 * 0x7E] != 448 || v[2 * 1] != 0.001953125f || v[2 * 0x38] != 1 || !std::isnan(v[2 * 0x7F]);
  wrong += v[2 * 0x7B + 1] != 57344 || !std::isinf(v[2 * 0x7C + 1]) || v[2 * 1 + 1] != 0.0000152587890625f;
  const auto e4m3 = [](double x, bool saturates = true) {
    return __nv_cvt_double_to_fp8(x, saturates ? __NV_SATFINITE : __NV_NOSAT, __NV_E4M3);
  };
  const auto e5m2 = [](float x) { return __nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E5M2); };
  wrong += e4m3(464) != 0x7E || e4m3(465, false) != 0x7F || e4m3(-INFINITY) != 0xFE || e4m3(1e300) != 0x7E;
  wrong += e4m3(17) != 0x58 || e4m3(19) != 0x5A || e4m3(0.0009765625) != 0 || e4m3(0.00098) != 1;
  wrong += e5m2(61440) != 0x7C || e5m2(61439) != 0x7B || e5m2(-0.0f) != 0x80 || e5m2(1.125f) != 0x3C;
  const float4 four = {1, -2, 0.5f, 1000};
  const auto back = float4(__nv_fp8x4_e4m3(four));
  wrong += back.x != 1 || back.y != -2 || back.z != 0.5f || back.w != 448;
  wrong += float2(__nv_fp8x2_e5m2(float2{3, 4})).y != 4;
  return wrong;
}
