// A product whose tiles are shared out by steps (stream-K), in clusters: C[256,128] = A[256,384] B[384,128] of halves. Each of three
// clusters takes a third of all steps of all tiles, so that a tile may be the work of two clusters. The two blocks of a cluster have the
// rows of a tile in halves, and fetch B for each other by multicast. Sums go to C by reductions of the copy engine.
// And copies that are read back from global memory, and a map that is no constant.
//
// With a name as argument one of the wrong versions runs; each has one fault, found at a line that is marked with the name.
#include <cuda.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "check.h"

enum Fault {
  kNone,
  steps_init_not_fenced,
  steps_release_relaxed,
  steps_release_of_block,
  steps_wait_relaxed,
  steps_wrong_lead,
  steps_same_box,
  steps_early_reuse,
  steps_no_fence,
  steps_leave_early,
  steps_few_registers,
  back_only_read,
  back_none,
  back_written_early,
  map_by_value,
  map_of_frame,
};

constexpr int kM = 256, kN = 128, kK = 384, kDepth = 64, kStages = 2, kRows = 64, kClusters = 3;
constexpr int kStepsOfTile = kK / kDepth, kTiles = kM / (2 * kRows),
              kSteps = kTiles * kStepsOfTile / kClusters;

struct Shared {
  alignas(1024) __half a[kStages][kRows * kDepth];
  alignas(1024) __half b[kStages][2][kDepth * 64];  // two boxes of 64 columns
  alignas(1024) float out[kRows * kN];
  alignas(8) uint64_t full[kStages], empty[kStages];
};

__device__ uint32_t address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ uint32_t of_rank(const void* p, uint32_t rank) {
  uint32_t there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address(p)), "r"(rank));
  return there;
}
__device__ uint32_t rank_of_block() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ void wait(uint64_t* bar, uint32_t parity) {
  asm volatile(
      "{\n.reg .pred p;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra OVER;\nbra "
      "AGAIN;\nOVER:\n}" ::"r"(address(bar)),
      "r"(parity)
      : "memory");
}
__device__ void wait_relaxed(uint64_t* bar, uint32_t parity) {
  asm volatile(
      "{\n.reg .pred p;\nAGAIN:\nmbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 p, [%0], %1;\n@p "
      "bra OVER;\nbra "
      "AGAIN;\nOVER:\n}" ::"r"(address(bar)),
      "r"(parity)
      : "memory");
}
__device__ uint64_t descriptor(const void* tile, uint32_t lead, uint32_t stride) {
  return uint64_t((address(tile) & 0x3FFFF) >> 4) | uint64_t(lead >> 4) << 16 | uint64_t(stride >> 4) << 32 |
         uint64_t(1) << 62;
}

#define R4(k) "+f"(d[k]), "+f"(d[k + 1]), "+f"(d[k + 2]), "+f"(d[k + 3])
#define R16(k) R4(k), R4(k + 4), R4(k + 8), R4(k + 12)
/// d += a b, 64 x 128 of halves: A along k, B along n.
#define MULTIPLY(a, b, add)                                                                               \
  asm volatile(                                                                                           \
      "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"                                                        \
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, "     \
      "%10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, "   \
      "%29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "   \
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, %64, %65, p, 1, " \
      "1, 0, 1;\n}\n"                                                                                     \
      : R16(0), R16(16), R16(32), R16(48)                                                                 \
      : "l"(a), "l"(b), "r"(int(add)))

template <Fault fault>
__device__ void produce(Shared& shared, const CUtensorMap* map_a, const CUtensorMap* map_b, uint32_t rank,
                        int first) {
  for (int step = 0; step < kSteps; ++step) {
    const int s = step % kStages, tile = (first + step) / kStepsOfTile,
              k = (first + step) % kStepsOfTile * kDepth;
    if (fault != steps_early_reuse) wait(&shared.empty[s], step / kStages & 1 ^ 1);
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(&shared.full[s])),
                 "r"(int(sizeof shared.a[0] + sizeof shared.b[0]))
                 : "memory");
    asm volatile(  // at steps_release_of_block, steps_early_reuse, steps_release_relaxed
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], "
        "[%2];" ::"r"(address(shared.a[s])),
        "l"(map_a), "r"(address(&shared.full[s])), "r"(k), "r"(tile * 2 * kRows + int(rank) * kRows)
        : "memory");
    asm volatile(  // at steps_init_not_fenced, steps_early_reuse, steps_release_relaxed, steps_release_of_block
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1, {%3, %4}], [%2], %5;" ::"r"(address(shared.b[s][rank])),
        "l"(map_b), "r"(address(&shared.full[s])), "r"(int(rank) * 64), "r"(k), "h"(uint16_t(3))
        : "memory");
  }
}

template <Fault fault>
__device__ void release(uint64_t* bar, uint32_t rank) {
  const uint32_t there = of_rank(bar, rank);
  if (fault == steps_release_relaxed)
    asm volatile("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%0];" ::"r"(there) : "memory");
  else if (fault == steps_release_of_block)
    asm volatile("mbarrier.arrive.release.cta.shared::cluster.b64 _, [%0];" ::"r"(there) : "memory");
  else
    asm volatile(  // at steps_leave_early
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(there)
        : "memory");
}

template <Fault fault>
__global__ void __cluster_dims__(2, 1, 1)
    product(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
            const __grid_constant__ CUtensorMap map_c) {
  extern __shared__ __align__(1024) unsigned char bytes[];
  Shared& shared = *reinterpret_cast<Shared*>(bytes);
  const uint32_t rank = rank_of_block();
  const int first = blockIdx.x / 2 * kSteps, t = threadIdx.x;
  if (t == 0) {
    for (int s = 0; s < kStages; ++s) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(&shared.full[s])), "r"(1)
                   : "memory");
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(&shared.empty[s])), "r"(8)
                   : "memory");
    }
    if (fault != steps_init_not_fenced) asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
  if (t >= 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    if (t == 128) produce<fault>(shared, &map_a, &map_b, rank, first);
  } else {
    if (fault == steps_few_registers)
      asm volatile("setmaxnreg.inc.sync.aligned.u32 260;");  // at steps_few_registers
    else
      asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    float d[64];
    for (int step = 0; step < kSteps; ++step) {
      const int s = step % kStages, k = (first + step) % kStepsOfTile;
      if (fault == steps_wait_relaxed)
        wait_relaxed(&shared.full[s], step / kStages & 1);
      else
        wait(&shared.full[s], step / kStages & 1);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
      for (int part = 0; part < kDepth / 16; ++part) {
        constexpr uint32_t lead = fault == steps_wrong_lead ? sizeof shared.b[0]
                                  : fault == steps_same_box ? 1024
                                                            : sizeof shared.b[0][0];
        const uint64_t a = descriptor(shared.a[s] + part * 16, 1, 1024),
                       b = descriptor(shared.b[s][0] + part * 16 * 64, lead, 1024);
        MULTIPLY(  // at steps_wrong_lead, steps_same_box, steps_wait_relaxed, steps_release_relaxed, steps_release_of_block, steps_early_reuse
            a, b, step > 0 && k > 0 || part > 0);
      }
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
      if (t % 32 == 0)
        for (uint32_t other = 0; other < 2; ++other) release<fault>(&shared.empty[s], other);
      if (k + 1 < kStepsOfTile && step + 1 < kSteps) continue;
      const int warp = t / 32, lane = t % 32;
      for (int r = 0; r < 64; ++r)
        shared.out[(warp * 16 + lane / 4 + r / 2 % 2 * 8) * kN + r / 4 * 8 + lane % 4 * 2 + r % 2] = d[r];
      if (fault != steps_no_fence) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      asm volatile("bar.sync 1, 128;" ::: "memory");
      if (t == 0) {
        const int row = (first + step) / kStepsOfTile * 2 * kRows + int(rank) * kRows;
        asm volatile(  // at steps_no_fence
            "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%0, {%2, %3}], [%1];" ::"l"(
                &map_c),
            "r"(address(shared.out)), "r"(0), "r"(row)
            : "memory");
        asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory");
      }
      asm volatile("bar.sync 1, 128;" ::: "memory");
    }
  }
  if (fault != steps_leave_early || rank == 1)
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
}

// Each block doubles a part of an array, stores it in bulk, and reads it back as another type.

template <Fault fault>
__global__ void doubled(float* data, float* sums) {
  __shared__ alignas(16) float part[64];
  const int t = threadIdx.x;
  float* const mine = data + 64 * blockIdx.x;
  part[t] = 2 * mine[t];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (t == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;" ::"l"(mine),
                 "r"(address(part))
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    if (fault == back_only_read || fault == back_written_early)
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    else if (fault != back_none)
      asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    if (fault == back_written_early) mine[0] = 1;  // at back_written_early
    float sum = 0;
    for (int k = 0; k < 64; ++k) sum += mine[k];  // at back_only_read, back_none
    sums[blockIdx.x] = sum;
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}

// A map as a parameter that is no constant, and in the frame of the thread.

__device__ void first_row(float* out, const CUtensorMap* map) {
  __shared__ alignas(128) float row[32];
  __shared__ alignas(8) uint64_t bar;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nfence.proxy.async.shared::cta;" ::"r"(address(&bar))
                 : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 128;" ::"r"(address(&bar)) : "memory");
    asm volatile(  // at map_by_value, map_of_frame
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %3}], "
        "[%2];" ::"r"(address(row)),
        "l"(map), "r"(address(&bar)), "r"(0)
        : "memory");
  }
  __syncthreads();
  wait(&bar, 0);
  out[threadIdx.x] = row[threadIdx.x];
}
__global__ void by_constant(const __grid_constant__ CUtensorMap map, float* out) { first_row(out, &map); }
__global__ void by_value(const CUtensorMap map, float* out) { first_row(out, &map); }
__global__ void by_frame(const __grid_constant__ CUtensorMap map, float* out) {
  const CUtensorMap mine = map;
  first_row(out, &mine);
}

static CUtensorMap map_of(CUtensorMapDataType type, int element, void* p, int rows, int columns, int box_rows,
                          int box_columns, CUtensorMapSwizzle swizzle) {
  CUtensorMap map;
  const cuuint64_t sizes[] = {cuuint64_t(columns), cuuint64_t(rows)},
                   strides[] = {cuuint64_t(columns * element)};
  const cuuint32_t box[] = {cuuint32_t(box_columns), cuuint32_t(box_rows)}, steps[] = {1, 1};
  if (cuTensorMapEncodeTiled(&map, type, 2, p, sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                             swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
    std::printf("no tensor map\n");
  return map;
}

template <class T>
static T* on_device(const std::vector<T>& from) {
  T* p;
  CHECK(cudaMalloc(&p, from.size() * sizeof(T)));
  CHECK(cudaMemcpy(p, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}

template <Fault fault>
static bool products() {
  std::vector<__half> a(kM * kK), b(kK * kN);
  for (size_t k = 0; k < a.size(); ++k) a[k] = __float2half(float(k * 7 % 5) - 2);
  for (size_t k = 0; k < b.size(); ++k) b[k] = __float2half(float(k * 11 % 7) - 3);
  __half *da = on_device(a), *db = on_device(b);
  float* dc = on_device(std::vector<float>(kM * kN));
  const CUtensorMap map_a = map_of(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, da, kM, kK, kRows, kDepth,
                                   CU_TENSOR_MAP_SWIZZLE_128B),
                    map_b = map_of(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, db, kK, kN, kDepth, 64,
                                   CU_TENSOR_MAP_SWIZZLE_128B),
                    map_c = map_of(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, dc, kM, kN, kRows, kN,
                                   CU_TENSOR_MAP_SWIZZLE_NONE);
  CHECK(cudaFuncSetAttribute(product<fault>, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared)));
  product<fault><<<2 * kClusters, 256, sizeof(Shared)>>>(map_a, map_b, map_c);
  CHECK(cudaGetLastError());
  std::vector<float> c(kM * kN);
  CHECK(cudaMemcpy(c.data(), dc, c.size() * 4, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < kM; ++i)
    for (int j = 0; j < kN; ++j) {
      float sum = 0;
      for (int k = 0; k < kK; ++k) sum += __half2float(a[i * kK + k]) * __half2float(b[k * kN + j]);
      wrong += c[i * kN + j] != sum;
    }
  if (wrong > 0) std::printf("%d elements of the product are wrong\n", wrong);
  cudaFree(da);
  cudaFree(db);
  cudaFree(dc);
  return wrong == 0;
}

template <Fault fault>
static bool back() {
  std::vector<float> data(3 * 64);
  for (size_t k = 0; k < data.size(); ++k) data[k] = float(k % 9);
  float *d = on_device(data), *sums = on_device(std::vector<float>(3));
  doubled<fault><<<3, 64>>>(d, sums);
  CHECK(cudaGetLastError());
  std::vector<float> got(3);
  CHECK(cudaMemcpy(got.data(), sums, 12, cudaMemcpyDeviceToHost));
  bool good = true;
  for (int b = 0; b < 3; ++b) {
    float sum = 0;
    for (int k = 0; k < 64; ++k) sum += 2 * data[64 * b + k];
    good = good && got[b] == sum;
  }
  if (!good) std::printf("the sums of what was stored are wrong\n");
  cudaFree(d);
  cudaFree(sums);
  return good;
}

template <Fault fault>
static bool rows() {
  std::vector<float> data(4 * 32);
  for (size_t k = 0; k < data.size(); ++k) data[k] = float(k);
  float *d = on_device(data), *out = on_device(std::vector<float>(32));
  const CUtensorMap map =
      map_of(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, d, 4, 32, 1, 32, CU_TENSOR_MAP_SWIZZLE_NONE);
  if (fault == map_by_value)
    by_value<<<1, 32>>>(map, out);
  else if (fault == map_of_frame)
    by_frame<<<1, 32>>>(map, out);
  else
    by_constant<<<1, 32>>>(map, out);
  CHECK(cudaGetLastError());
  std::vector<float> got(32);
  if (cudaMemcpy(got.data(), out, 128, cudaMemcpyDeviceToHost) == cudaSuccess) cudaFree(out), cudaFree(d);
  return got[31] == 31;
}

#define WRONG(name, run) \
  if (argc > 1 && std::strcmp(argv[1], #name) == 0) return run<name>(), 0;

int main(int argc, char** argv) {
  WRONG(steps_init_not_fenced, products)
  WRONG(steps_release_relaxed, products)
  WRONG(steps_release_of_block, products)
  WRONG(steps_wait_relaxed, products)
  WRONG(steps_wrong_lead, products)
  WRONG(steps_same_box, products)
  WRONG(steps_early_reuse, products)
  WRONG(steps_no_fence, products)
  WRONG(steps_leave_early, products)
  WRONG(steps_few_registers, products)
  WRONG(back_only_read, back)
  WRONG(back_none, back)
  WRONG(back_written_early, back)
  WRONG(map_by_value, rows)
  WRONG(map_of_frame, rows)
  const bool good = products<kNone>() & back<kNone>() & rows<kNone>();
  if (good) std::printf("stream_k passed\n");
  return good ? 0 : 1;
}
