// right
// Functions of CUDA's math API that few programs use: conversions that saturate, comparisons with NaN, inverse functions.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstdio>

__device__ int failures;
#define IS(condition)                              \
  if (!(condition)) {                              \
    printf("line %d: %s\n", __LINE__, #condition); \
    atomicAdd(&failures, 1);                       \
  }

template <class H, class H2>
__device__ void compare(H nan, H one, H two) {
  IS(!__hne(nan, one) && __hneu(nan, one) && __hne(one, two) && !__hne(one, one));
  IS(!__heq(nan, nan) && __hequ(nan, nan) && __hltu(nan, one) && !__hlt(nan, one) && __hgeu(one, nan));
  const H2 a(nan, one), b(one, two);
  IS(__heq2_mask(b, b) == 0xFFFFFFFFU && __hne2_mask(a, b) == 0xFFFF0000U &&
     __hneu2_mask(a, b) == 0xFFFFFFFFU);
  IS(!__hblt2(a, b) && __hbltu2(a, b) && b != a && b == b);
  IS(float(__hne2(a, b).x) == 0 && float(__hne2(a, b).y) == 1 && float(__hisnan2(a).x) == 1);
  IS(float(__hmax(nan, one)) == 1 && __hisnan(__hmax_nan(nan, one)) && float(__hmin_nan(two, one)) == 1);
  IS(float(__hsub_sat(one, two)) == 0 && float(__hfma_sat(one, two, two)) == 1 &&
     float(__hfma_relu(one, one, H(-3.0f))) == 0);
  // (1 + 2i) * (2 + 1i) + (1 + 1i) = 1 + 6i
  const H2 product = __hcmadd(H2(one, two), H2(two, one), H2(one, one));
  IS(float(product.x) == 1 && float(product.y) == 6);
  H counted(2.0f);
  IS(float(counted++) == 2 && float(counted) == 3 && float(--counted) == 2);
  counted /= H(4u);
  IS(float(counted) == 0.5f);
}

__global__ void halves() {
  const __half nan = __ushort_as_half(0x7E00), infinite = __ushort_as_half(0x7C00);
  compare<__half, __half2>(nan, __half(1), __half(2));
  compare<__nv_bfloat16, __nv_bfloat162>(__ushort_as_bfloat16(0x7FC0), __nv_bfloat16(1), __nv_bfloat16(2));
  IS(__half2int_rz(infinite) == 0x7FFFFFFF && __half2int_rn(nan) == 0 && __half2int_rd(__half(-1.5f)) == -2);
  IS(__half2short_rn(infinite) == 32767 && __half2short_rz(__half(-2.5f)) == -2 &&
     __half2ushort_ru(__half(-3.0f)) == 0);
  IS(__half2uint_ru(__half(2.25f)) == 3 && __half2ll_rn(nan) == (long long)(1ULL << 63) &&
     __half2ull_rd(__half(7.75f)) == 7);
  IS(__half2char_rz(__half(-300.0f)) == -128 && __half2uchar_rz(__half(300.0f)) == 255);
  IS(float(__int2half_rz(65535)) == 65504 && float(__int2half_rd(-2049)) == -2050 &&
     float(__int2half_ru(2049)) == 2050);
  IS(float(__ushort2half_rz(2051)) == 2050 && float(__ull2half_rd(4099)) == 4096 &&
     isinf(float(__ll2half_rn(1LL << 40))));
  IS(float(__ull2bfloat16_rn((1ULL << 63) + (1ULL << 55))) == 9223372036854775808.0f);
  IS(float(__ull2bfloat16_rn((1ULL << 63) + (1ULL << 55) + 1)) == 9295429630892703744.0f);
  IS(float(__int2bfloat16_rz(-511)) == -510 && float(__uint2bfloat16_ru(257)) == 258);
  IS(__bfloat162int_rd(__nv_bfloat16(-1.5f)) == -2 &&
     __bfloat162uint_rn(__nv_bfloat16(1e30f)) == 0xFFFFFFFFU);
  IS(float(__float2bfloat16_rd(1.001f)) == 1 && float(__float2bfloat16_ru(1.001f)) == 1.0078125f);
  IS(float(h2floor(__half2(1.75f, -1.25f)).y) == -2 && float(hexp10(__half(2))) == 100 &&
     float(hlog10(__half(100))) == 2);
}

__global__ void numbers() {
  IS(__ll2float_rz(16777217) == 16777216 && __ll2float_ru(16777217) == 16777218 &&
     __ll2float_rd(-16777217) == -16777218);
  IS(__ull2float_rz(~0ULL) == 18446742974197923840.0f && __ull2float_ru(~0ULL) == 18446744073709551616.0f);
  IS(__ll2double_rd((1LL << 53) + 1) == 9007199254740992.0 &&
     __ull2double_ru((1ULL << 53) + 1) == 9007199254740994.0);
  IS(__double2ull_ru(2.5) == 3 && __float2ull_rd(-1) == 0);
  IS(__dp2a_lo(int(0xFFFE0003), int(0x04030201), 10) == 10 + 3 * 1 - 2 * 2 &&
     __dp2a_hi(0x00020003U, 0x04030201U, 1U) == 1 + 9 + 8);
  IS(__viaddmax_s32(5, -9, -2) == -2 && __viaddmin_s32_relu(5, -9, 7) == 0 && __vimax3_u32(1, ~0U, 7) == ~0U);
  IS(__viaddmax_s16x2(0x7FFF0001, 0x00010002, 0x00000009) == 0x00000009 &&
     __vimin3_s16x2(0x00010005, 0xFFFF0004, 0x00070003) == 0xFFFF0003);
  IS(__vimax_s16x2_relu(0xFFFF0005, 0xFFFE0004) == 5 &&
     __viaddmax_u16x2(0x00010002, 0x00010002, 0x00050001) == 0x00050004);
  bool first = true, high = true, low = false;
  IS(__vibmin_s32(3, -3, &first) == -3 && !first &&
     __vibmax_s16x2(0x0001FFFF, 0x0002FFFE, &high, &low) == 0x0002FFFF && !high && low);
  IS(__nv_bswap32(0x01020304) == 0x04030201 && __nv_bswap16(0x0102) == 0x0201);
  for (double x = -4; x <= 4; x += 0.37) {
    IS(fabs(erfinv(erf(x)) - x) < 1e-7 && fabs(erfcinv(erfc(x)) - x) < 1e-9 * (1 + fabs(x)));
    IS(fabs(normcdf(normcdfinv(normcdf(x))) - normcdf(x)) < 1e-13 &&
       fabs(erfcx(x) * exp(-x * x) - erfc(x)) < 1e-14);
  }
  IS(erfcinv(0.0) == INFINITY && erfinv(-1.0) == -INFINITY && isnan(erfinv(1.5)) &&
     fabs(erfcinv(1e-300) - 26.209469960516423) < 1e-9);
  IS(fabs(erfcx(30.0) - 0.018795888861416751) < 1e-16 && fabs(erfcx(12.0) - erfcx(11.999999)) < 1e-8 &&
     erfinvf(0.0f) == 0);
  IS(fabs(cyl_bessel_i0(1.0) - 1.2660658777520084) < 1e-14 &&
     fabs(cyl_bessel_i1(-2.0) + 1.5906368546373291) < 1e-14);
  const double sides[3] = {2, 3, 6};
  IS(norm(3, sides) == 7 && rnorm4d(1, 1, 1, 1) == 0.5);
}

__global__ void counted(int* x) {
  atomicAdd_block(x, 1);
  atomicMax_block(x + 1, int(threadIdx.x));
  atomicSub_system(x + 2, 1);
  if (syncthreads_count(threadIdx.x < 7) != 7 || !__uni_sync(~0U, 1) || __ldcv(x) != int(blockDim.x))
    atomicAdd(&failures, 1);
}

int main() {
  halves<<<1, 1>>>();
  numbers<<<1, 1>>>();
  int *x, wanted[3] = {64, 63, -64}, got[3], failed = 0;
  cudaMalloc(&x, sizeof wanted);
  cudaMemset(x, 0, sizeof wanted);
  counted<<<1, 64>>>(x);
  cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost);
  cudaMemcpyFromSymbol(&failed, failures, sizeof failed);
  for (int k = 0; k < 3; ++k) failed += got[k] != wanted[k];
  if (failed != 0) std::printf("%d are wrong\n", failed);
  cudaFree(x);
  return failed != 0;
}
