// A product on Hopper as programs write it: the driver's tensor maps by the runtime's entry point, inline PTX for mbarrier, TMA,
// wgmma and fences, roles of warps. C[128,128] = A[128,256] B[256,128] of halves, B as it lies.
#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_fp16.h>

#include <cstdio>
#include <vector>

#include "check.h"

constexpr int kM = 128, kN = 128, kK = 256, kDepth = 64, kStages = 2, kSteps = kK / kDepth;

struct Shared {
  alignas(1024) __half a[kStages][64 * kDepth];
  alignas(1024) __half b[kStages][2][kDepth * 64];  // two boxes of 64 columns
  alignas(1024) float out[64 * 32];
  alignas(8) uint64_t full[kStages], empty[kStages];
};

__device__ uint32_t address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

__device__ void init(uint64_t* bar, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(bar)), "r"(count) : "memory");
}
__device__ void wait(uint64_t* bar, uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred P1;\n"
      "LAB_WAIT:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n"
      "@P1 bra.uni DONE;\n"
      "bra.uni LAB_WAIT;\n"
      "DONE:\n"
      "}" ::"r"(address(bar)),
      "r"(parity)
      : "memory");
}
__device__ void arrive(uint64_t* bar) {
  asm volatile(
      "{\n.reg .b64 state;\nmbarrier.arrive.release.cta.shared::cta.b64 state, [%0];\n}" ::"r"(address(bar))
      : "memory");
}
__device__ void expect(uint64_t* bar, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(address(bar)),
               "r"(bytes)
               : "memory");
}
__device__ void fetch(void* to, const CUtensorMap* map, int x, int y, uint64_t* bar) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], "
      "[%2];" ::"r"(address(to)),
      "l"(map), "r"(address(bar)), "r"(x), "r"(y)
      : "memory");
}
__device__ uint64_t descriptor(const void* tile, uint32_t lead, uint32_t stride) {
  return uint64_t((address(tile) & 0x3FFFF) >> 4) | uint64_t(lead >> 4) << 16 | uint64_t(stride >> 4) << 32 |
         uint64_t(1) << 62;
}
/// d += a b, 64 x 32 of halves: A along k, B along n.
__device__ void multiply(float (&d)[16], uint64_t a, uint64_t b, int add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %18, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, %16, %17, p, %19, %20, %21, "
      "%22;\n}\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
      : "l"(a), "l"(b), "r"(add), "n"(1), "n"(1), "n"(0), "n"(1));
}

__global__ void product(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                        const __grid_constant__ CUtensorMap map_c) {
  extern __shared__ __align__(1024) unsigned char bytes[];
  Shared& shared = *reinterpret_cast<Shared*>(bytes);
  const int i0 = blockIdx.y * 64, j0 = blockIdx.x * 32;
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      init(&shared.full[s], 1);
      init(&shared.empty[s], 128);
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x != 0) return;
    for (int step = 0; step < kSteps; ++step) {
      const int s = step % kStages;
      wait(&shared.empty[s], step / kStages & 1 ^ 1);
      expect(&shared.full[s], sizeof shared.a[0] + sizeof shared.b[0]);
      fetch(shared.a[s], &map_a, step * kDepth, i0, &shared.full[s]);
      for (int box = 0; box < 2; ++box)
        fetch(shared.b[s][box], &map_b, j0 / 64 * 64 + box * 64 >= kN ? kN : j0 / 64 * 64 + box * 64,
              step * kDepth, &shared.full[s]);
    }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  float d[16];
  for (int step = 0; step < kSteps; ++step) {
    const int s = step % kStages;
    wait(&shared.full[s], step / kStages & 1);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int k = 0; k < kDepth / 16; ++k) {
      const char* b = reinterpret_cast<const char*>(shared.b[s][0]) + k * 16 * 128 + j0 % 64 * 2;
      multiply(d, descriptor(shared.a[s] + k * 16, 1, 1024), descriptor(b, sizeof shared.b[s][0], 1024),
               step + k > 0);
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    arrive(&shared.empty[s]);
  }
  const int t = threadIdx.x - 128, warp = t / 32, lane = t % 32;
  for (int r = 0; r < 16; ++r)
    shared.out[(warp * 16 + lane / 4 + r / 2 % 2 * 8) * 32 + r / 4 * 8 + lane % 4 * 2 + r % 2] = d[r];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  asm volatile("bar.sync 1, 128;" ::: "memory");
  if (t == 0) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map_c),
                 "r"(address(shared.out)), "r"(j0), "r"(i0)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
  }
}

static CUtensorMap encoded(PFN_cuTensorMapEncodeTiled encode, CUtensorMapDataType type, int element, void* p,
                           int rows, int columns, int box_rows, int box_columns, CUtensorMapSwizzle swizzle) {
  CUtensorMap map;
  cuuint64_t sizes[2] = {cuuint64_t(columns), cuuint64_t(rows)}, strides[1] = {cuuint64_t(columns * element)};
  cuuint32_t box[2] = {cuuint32_t(box_columns), cuuint32_t(box_rows)}, steps[2] = {1, 1};
  const CUresult result = encode(&map, type, 2, p, sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                 swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) std::printf("encode failed with %d\n", int(result));
  return map;
}

int main() {
  std::vector<__half> a(kM * kK), b(kK * kN);
  for (size_t k = 0; k < a.size(); ++k) a[k] = __float2half(float(k * 7 % 5) - 2);
  for (size_t k = 0; k < b.size(); ++k) b[k] = __float2half(float(k * 11 % 7) - 3);
  __half *da, *db;
  float* dc;
  CHECK(cudaMalloc(&da, a.size() * 2));
  CHECK(cudaMalloc(&db, b.size() * 2));
  CHECK(cudaMalloc(&dc, kM * kN * 4));
  CHECK(cudaMemcpy(da, a.data(), a.size() * 2, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(db, b.data(), b.size() * 2, cudaMemcpyHostToDevice));
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found;
  CHECK(cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &entry, cudaEnableDefault, &found));
  const auto encode = reinterpret_cast<PFN_cuTensorMapEncodeTiled>(entry);
  const CUtensorMap map_a = encoded(encode, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, da, kM, kK, 64, kDepth,
                                    CU_TENSOR_MAP_SWIZZLE_128B),
                    map_b = encoded(encode, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, db, kK, kN, kDepth, 64,
                                    CU_TENSOR_MAP_SWIZZLE_128B),
                    map_c = encoded(encode, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, dc, kM, kN, 64, 32,
                                    CU_TENSOR_MAP_SWIZZLE_NONE);
  CHECK(cudaFuncSetAttribute(product, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared)));
  product<<<dim3(kN / 32, kM / 64), 256, sizeof(Shared)>>>(map_a, map_b, map_c);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  std::vector<float> c(kM * kN);
  CHECK(cudaMemcpy(c.data(), dc, c.size() * 4, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < kM; ++i)
    for (int j = 0; j < kN; ++j) {
      float sum = 0;
      for (int k = 0; k < kK; ++k) sum += __half2float(a[i * kK + k]) * __half2float(b[k * kN + j]);
      wrong += c[i * kN + j] != sum;
    }
  std::printf("hopper %s (%d wrong)\n", wrong == 0 ? "passed" : "FAILED", wrong);
  CHECK(cudaFree(da));
  CHECK(cudaFree(db));
  CHECK(cudaFree(dc));
  return wrong != 0;
}
