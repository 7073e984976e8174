// Clusters of blocks as programs write them: sums through distributed shared memory, tiles that are multicast, sums that the copy
// engine adds up, products whose depth is split over a cluster (st.async), a launch that overlaps the one before it.
//
// With a name as argument one of the wrong versions runs; each has one fault, found at the line that is marked with the name.
#include <cooperative_groups.h>
#include <cuda.h>
#include <cuda_runtime.h>
#include <cuda/ptx>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "check.h"
#include "clusters.h"

namespace cg = cooperative_groups;

__device__ void sync_cluster() {
  asm volatile(  // at split_arrive_twice

      "barrier.cluster.arrive.release.aligned;\n"
      "barrier.cluster.wait.acquire.aligned;" ::
          : "memory");
}
__device__ void wait(uint64_t* bar, uint32_t parity) {
  asm volatile(  // at split_too_many_bytes
      "{\n.reg .pred p;\nagain:\n"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1;\n"
      "@!p bra again;\n}" ::"r"(address(bar)),
      "r"(parity)
      : "memory");
}

// Distributed shared memory: each cluster of 4 blocks adds up 4 x 128 numbers.

constexpr int kBlocks = 4, kThreads = 128;

template <Fault fault>
__global__ void __cluster_dims__(kBlocks, 1, 1) __launch_bounds__(kThreads) sum(const int* in, int* out) {
  __shared__ int part;
  auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) part = 0;
  __syncthreads();
  atomicAdd(&part, in[blockIdx.x * kThreads + threadIdx.x]);
  if (fault == sum_block_barrier) __syncthreads();
  if (fault != sum_without_sync && fault != sum_block_barrier) cluster.sync();
  if (fault == sum_writes_peer && threadIdx.x == 0)
    *cluster.map_shared_rank(&part, (cluster.block_rank() + 1) % kBlocks) = 0;  // at sum_writes_peer
  if (cluster.block_rank() == 0 && threadIdx.x == 0) {
    int all = 0;
    for (unsigned rank = 0; rank < cluster.num_blocks(); ++rank) {
      const int* there =
          cluster.map_shared_rank(&part, fault == sum_wrong_rank ? rank + 1 : rank);  // at sum_wrong_rank
      all += *there;  // at sum_without_sync, sum_block_barrier, sum_no_sync_at_end, sum_writes_peer
    }
    out[blockIdx.x / kBlocks] = all;
  }
  if (fault != sum_no_sync_at_end) cluster.sync();
}

// A flag and a number that the second block of a cluster hands to the first one.

__global__ void __cluster_dims__(2, 1, 1) hand_over(int* out) {
  __shared__ int flag, number;
  auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) flag = 0;
  cluster.sync();
  if (threadIdx.x == 0 && cluster.block_rank() == 1) {
    *cluster.map_shared_rank(&number, 0) = 42;
    __threadfence();
    atomicExch(cluster.map_shared_rank(&flag, 0), 1);
  } else if (threadIdx.x == 0) {
    while (atomicAdd(&flag, 0) == 0) {
    }
    __threadfence();
    out[blockIdx.x / 2] = number;
  }
  cluster.sync();
}

// Multicast: two blocks fetch one half of each tile each, for both.

constexpr int kTile = 256, kSteps = 5, kStages = 2;  // floats

template <Fault fault>
__global__ void __cluster_dims__(2, 1, 1) multicast(const float* in, float* out) {
  __shared__ alignas(128) float tile[kStages][kTile];
  __shared__ alignas(8) uint64_t full[kStages], empty[kStages];
  const uint32_t rank = rank_of_block();
  constexpr int kReaders = fault == tile_own_empty ? 1 : 2;
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      init(&full[s], 1);
      init(&empty[s], 32 * kReaders);
    }
    asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async;" ::: "memory");
  }
  __syncthreads();
  if (fault != tile_no_cluster_sync) sync_cluster();
  if (threadIdx.x == 32) {
    for (int step = 0; step < kSteps; ++step) {
      const int s = step % kStages;
      wait(&empty[s], step / kStages & 1 ^ 1);
      expect(&full[s], fault == tile_half_bytes ? sizeof tile[s] / 2 : sizeof tile[s]);
      const uint16_t mask = fault == tile_wrong_mask ? 7 : 3;
      asm volatile(  // at tile_half_bytes, tile_no_cluster_sync, tile_own_empty, tile_wrong_mask
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], "
          "%2, [%3], %4;" ::"r"(address(&tile[s][rank * kTile / 2])),
          "l"(in + step * kTile + rank * kTile / 2), "r"(uint32_t(sizeof tile[s] / 2)),
          "r"(address(&full[s])), "h"(mask)
          : "memory");
    }
  } else if (threadIdx.x < 32) {
    float mine = 0;
    for (int step = 0; step < kSteps; ++step) {
      const int s = step % kStages;
      wait(&full[s], step / kStages & 1);
      for (int k = threadIdx.x; k < kTile; k += 32) mine += tile[s][k];
      for (int other = 0; other < kReaders; ++other)
        asm volatile(  // at tile_no_sync_at_end
            "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(
                of_rank(&empty[s], kReaders == 1 ? rank : other))
            : "memory");
    }
    for (int by = 16; by > 0; by /= 2) mine += __shfl_xor_sync(~0u, mine, by);
    if (threadIdx.x == 0) out[blockIdx.x] = mine;
  }
  if (fault != tile_no_sync_at_end) sync_cluster();
}

// Sums by the copy engine: all blocks add their tile to one array.

template <Fault fault>
__global__ void add_up(float* out) {
  __shared__ alignas(128) float tile[64];
  tile[threadIdx.x] = float(blockIdx.x + 1) * threadIdx.x;
  if (fault != add_no_fence) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (fault == add_plain_store)
    asm volatile(  // at add_plain_store
        "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out), "r"(address(tile)), "r"(256)
        : "memory");
  else
    asm volatile(  // at add_no_fence, add_no_wait

        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(out),
        "r"(address(tile)), "r"(256)
        : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  if (fault != add_no_wait) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// A product whose depth is split over a cluster: the block of rank 1 sends its half of the sums to that of rank 0.

constexpr int kDepth = 48;

template <Fault fault>
__global__ void __cluster_dims__(2, 1, 1) split(const float* a, const float* b, float* c) {
  __shared__ float others[32];
  __shared__ alignas(8) uint64_t bar;
  const uint32_t rank = rank_of_block();
  const int row = blockIdx.x / 2;
  if (threadIdx.x == 0) {
    init(&bar, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    expect(&bar, rank == 1 ? 0 : fault == split_too_many_bytes ? 132 : 128);
  }
  if (fault == split_arrive_twice) asm volatile("barrier.cluster.arrive;" ::: "memory");
  sync_cluster();
  float sum = 0;
  for (int k = rank * kDepth / 2; k < (rank + 1) * kDepth / 2; ++k)
    sum += a[row * kDepth + k] * b[k * 32 + threadIdx.x];
  if (rank == 1) {
    const uint32_t there = fault == split_own_barrier ? address(&bar) : of_rank(&bar, 0);
    asm volatile(  // at split_own_barrier

        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %1, [%2];" ::"r"(
            of_rank(&others[threadIdx.x], 0)),
        "f"(sum), "r"(there)
        : "memory");
  } else {
    if (fault != split_no_wait) wait(&bar, 0);
    c[row * 32 + threadIdx.x] = sum + others[threadIdx.x];  // at split_no_wait
  }
  sync_cluster();
}

// Programmatic dependent launch: the second kernel begins while the first one may still run.

__global__ void first(int* x, const int* table) {
  x[threadIdx.x] = table[threadIdx.x] + 1;
  asm volatile("griddepcontrol.launch_dependents;");
}
template <Fault fault>
__global__ void second(int* x, const int* table, int* out) {
  const int t = threadIdx.x;
  int v = table[t];                          // no kernel writes it
  if (fault == pair_reads_early) v += x[t];  // at pair_reads_early
  if (fault == pair_writes_early) x[t] = 0;  // at pair_writes_early
  if (fault != pair_never_waits) asm volatile("griddepcontrol.wait;" ::: "memory");
  if (fault != pair_reads_early) v += x[63 - t];  // at pair_never_waits
  out[t] = v;
}

// Boxes that are multicast, changed, exchanged between the two blocks, and added to a matrix by the copy engine.

template <Fault fault>
__global__ void __cluster_dims__(2, 1, 1)
    boxes(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap out) {
  __shared__ alignas(128) float tile[8 * 32], other[8 * 32];
  __shared__ alignas(8) uint64_t bar[2];
  const int t = threadIdx.x, rank = rank_of_block();
  if (t == 0) {
    init(&bar[0], 1);
    init(&bar[1], 1);
    asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async;" ::: "memory");
    expect(&bar[0], sizeof tile);
    expect(&bar[1], sizeof other);
  }
  sync_cluster();
  if (t == 0)
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], "
        "[%1, {%3, %4}], [%2], %5;" ::"r"(address(tile + rank * 4 * 32)),
        "l"(&in), "r"(address(&bar[0])), "r"(0), "r"(rank * 4), "h"(uint16_t(3))
        : "memory");
  wait(&bar[0], 0);
  for (int k = t; k < 8 * 32; k += 32) tile[k] *= float(rank + 1);
  if (fault != boxes_no_fence) asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (t == 0)
    asm volatile(  // at boxes_no_fence
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            of_rank(other, rank ^ 1)),
        "r"(address(tile)), "r"(uint32_t(sizeof tile)), "r"(of_rank(&bar[1], rank ^ 1))
        : "memory");
  if (fault == boxes_source_reused) __syncthreads();
  if (fault == boxes_source_reused) tile[t] = 0;  // at boxes_source_reused
  wait(&bar[1], 0);
  for (int k = t; k < 8 * 32; k += 32) other[k] += 1;
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (t == 0) {
    for (int row = 0; row < 8; row += 4)
      asm volatile(
          "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(
              &out),
          "r"(address(other + row * 32)), "r"(0), "r"(row)
          : "memory");
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
  }
  sync_cluster();
}

// A tensor map that the kernel changes: each block fetches the rows of its own matrix.

template <Fault fault>
__global__ void own_matrix(const __grid_constant__ CUtensorMap any, CUtensorMap* maps, float* matrices,
                           float* out) {
  __shared__ alignas(128) CUtensorMap map;
  __shared__ alignas(128) float tile[8 * 32];
  __shared__ alignas(8) uint64_t bar;
  const unsigned t = threadIdx.x;
  if (t < 8) reinterpret_cast<uint4*>(&map)[t] = reinterpret_cast<const uint4*>(&any)[t];
  if (t == 0) init(&bar, 1);
  __syncwarp();
  if (t == 0) {
    asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(address(&map)),
                 "l"(matrices + 8 * 32 * blockIdx.x)
                 : "memory");
    asm volatile(  // at map_bad_box
        "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%0], 1, %1;" ::"r"(address(&map)),
        "r"(fault == map_bad_box ? 257 : 8)
        : "memory");
  }
  __syncwarp();
  CUtensorMap* mine = maps + blockIdx.x;
  asm volatile(
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], "
      "128;" ::"l"(mine),
      "r"(address(&map))
      : "memory");
  if (t == 0) {
    if (fault != map_not_acquired)
      asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(mine) : "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
    expect(&bar, sizeof tile);
    asm volatile(  // at map_not_acquired
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], "
        "[%2];" ::"r"(address(tile)),
        "l"(mine), "r"(address(&bar)), "r"(0), "r"(0)
        : "memory");
  }
  __syncwarp();
  wait(&bar, 0);
  float sum = 0;
  for (int row = 0; row < 8; ++row) sum += tile[row * 32 + t];
  out[32 * blockIdx.x + t] = sum;
}

// libcu++'s functions, in clusters of two dimensions: each block sends pairs to the next one, and a tile of halves
// goes through stmatrix.

namespace ptx = cuda::ptx;

__global__ void __cluster_dims__(2, 2, 1) neighbors(int* out, unsigned short* halves) {
  __shared__ int pairs[2 * 32];
  __shared__ alignas(8) uint64_t bar;
  __shared__ alignas(16) unsigned short tile[16 * 16];
  const auto cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank(), t = threadIdx.x;
  if (t == 0) {
    ptx::mbarrier_init(&bar, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, sizeof pairs);
  }
  ptx::barrier_cluster_arrive(ptx::sem_release);
  ptx::barrier_cluster_wait(ptx::sem_acquire);
  const unsigned next = (rank + 1) % cluster.num_blocks();
  const int values[2] = {int(100 * rank + t), int(blockIdx.x + gridDim.x * blockIdx.y)};
  ptx::st_async(cluster.map_shared_rank(pairs + 2 * t, next), values, cluster.map_shared_rank(&bar, next));
  while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &bar, 0)) {
  }
  const int block = blockIdx.x + gridDim.x * blockIdx.y;
  out[64 * block + 2 * t] = pairs[2 * t];
  out[64 * block + 2 * t + 1] = pairs[2 * t + 1];
  // Lane t gives elements (t / 4, t % 4 * 2) of four matrices of 8 x 8: row and column of the tile in one number.
  unsigned r[4];
  for (unsigned j = 0; j < 4; ++j) {
    const unsigned i = t / 4 + j % 2 * 8, k = t % 4 * 2 + j / 2 * 8;
    r[j] = (i * 16 + k) | (i * 16 + k + 1) << 16;
  }
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                   address(tile + (t % 16) * 16 + t / 16 * 8)),
               "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
               : "memory");
  __syncthreads();
  for (unsigned k = t; k < 256; k += 32) halves[256 * block + k] = tile[k];
  cluster.sync();
}

template <class T>
static T* on_device(const std::vector<T>& from) {
  T* p;
  CHECK(cudaMalloc(&p, from.size() * sizeof(T)));
  CHECK(cudaMemcpy(p, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}
template <class T>
static std::vector<T> back(T* p, size_t n) {
  std::vector<T> to(n);
  if (cudaMemcpy(to.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost) == cudaSuccess) cudaFree(p);
  return to;
}
static bool same(const char* what, double is, double wanted) {
  if (is != wanted) std::printf("%s: %g, not %g\n", what, is, wanted);
  return is == wanted;
}

template <Fault fault>
static bool sums() {
  const int clusters = 3, n = clusters * kBlocks * kThreads;
  std::vector<int> in(n);
  for (int k = 0; k < n; ++k) in[k] = k % 37 - 11;
  int *d = on_device(in), *out = on_device(std::vector<int>(clusters));
  sum<fault><<<clusters * kBlocks, kThreads>>>(d, out);
  CHECK(cudaGetLastError());
  const std::vector<int> got = back(out, clusters);
  bool good = true;
  for (int c = 0; c < clusters; ++c) {
    int wanted = 0;
    for (int k = 0; k < kBlocks * kThreads; ++k) wanted += in[c * kBlocks * kThreads + k];
    good = same("sum", got[c], wanted) && good;
  }
  cudaFree(d);
  return good;
}

static bool handed_over() {
  int* out = on_device(std::vector<int>(3));
  hand_over<<<6, 32>>>(out);
  CHECK(cudaGetLastError());
  bool good = true;
  for (int x : back(out, 3)) good = same("number that is handed over", x, 42) && good;
  return good;
}

template <Fault fault>
static bool tiles() {
  std::vector<float> in(kSteps * kTile);
  for (size_t k = 0; k < in.size(); ++k) in[k] = float(k % 13);
  float *d = on_device(in), *out = on_device(std::vector<float>(4));
  multicast<fault><<<4, 64>>>(d, out);
  CHECK(cudaGetLastError());
  float wanted = 0;
  for (float x : in) wanted += x;
  bool good = true;
  for (float x : back(out, 4)) good = same("multicast", x, wanted) && good;
  cudaFree(d);
  return good;
}

template <Fault fault>
static bool additions() {
  float* out = on_device(std::vector<float>(64));
  add_up<fault><<<5, 64>>>(out);
  CHECK(cudaGetLastError());
  const std::vector<float> got = back(out, 64);
  bool good = true;
  for (int k = 0; k < 64; ++k) good = same("add_up", got[k], 15.0 * k) && good;
  return good;
}

template <Fault fault>
static bool splits() {
  const int rows = 6;
  std::vector<float> a(rows * kDepth), b(kDepth * 32);
  for (size_t k = 0; k < a.size(); ++k) a[k] = float(k % 5) - 2;
  for (size_t k = 0; k < b.size(); ++k) b[k] = float(k % 7) - 3;
  float *da = on_device(a), *db = on_device(b), *dc = on_device(std::vector<float>(rows * 32));
  split<fault><<<2 * rows, 32>>>(da, db, dc);
  CHECK(cudaGetLastError());
  const std::vector<float> c = back(dc, rows * 32);
  bool good = true;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < 32; ++j) {
      float wanted = 0;
      for (int k = 0; k < kDepth; ++k) wanted += a[i * kDepth + k] * b[k * 32 + j];
      good = same("split", c[i * 32 + j], wanted) && good;
    }
  cudaFree(da);
  cudaFree(db);
  return good;
}

template <Fault fault>
static bool pairs() {
  std::vector<int> table(64);
  for (int k = 0; k < 64; ++k) table[k] = 3 * k;
  int *d = on_device(table), *x = on_device(std::vector<int>(64)), *out = on_device(std::vector<int>(64));
  first<<<1, 64>>>(x, d);
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = 1;
  config.blockDim = 64;
  config.attrs = &overlap;
  config.numAttrs = 1;
  CHECK(cudaLaunchKernelEx(&config, second<fault>, x, static_cast<const int*>(d), out));
  const std::vector<int> got = back(out, 64);
  bool good = true;
  for (int k = 0; k < 64; ++k) good = same("pair", got[k], 3 * k + 3 * (63 - k) + 1) && good;
  cudaFree(d);
  cudaFree(x);
  return good;
}

/// Describes 8 rows of 32 floats in boxes of 4 rows.
static CUtensorMap map_of(float* p) {
  CUtensorMap map;
  const cuuint64_t sizes[] = {32, 8}, strides[] = {128};
  const cuuint32_t box[] = {32, 4}, steps[] = {1, 1};
  if (cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, p, sizes, strides, box, steps,
                             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                             CU_TENSOR_MAP_L2_PROMOTION_NONE,
                             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
    std::printf("no tensor map\n");
  return map;
}

template <Fault fault>
static bool exchanges() {
  std::vector<float> in(8 * 32);
  for (size_t k = 0; k < in.size(); ++k) in[k] = float(k % 19);
  float *d = on_device(in), *out = on_device(std::vector<float>(8 * 32));
  boxes<fault><<<2, 32>>>(map_of(d), map_of(out));
  CHECK(cudaGetLastError());
  const std::vector<float> got = back(out, 8 * 32);
  bool good = true;
  for (size_t k = 0; k < in.size(); ++k) good = same("boxes", got[k], 3 * in[k] + 2) && good;
  cudaFree(d);
  return good;
}

template <Fault fault>
static bool matrices() {
  constexpr int blocks = 3;
  std::vector<float> all(blocks * 8 * 32);
  for (size_t k = 0; k < all.size(); ++k) all[k] = float(k % 17);
  float *d = on_device(all), *out = on_device(std::vector<float>(blocks * 32));
  CUtensorMap* maps;
  CHECK(cudaMalloc(&maps, blocks * sizeof(CUtensorMap)));
  own_matrix<fault><<<blocks, 32>>>(map_of(d), maps, d, out);
  CHECK(cudaGetLastError());
  const std::vector<float> got = back(out, blocks * 32);
  bool good = true;
  for (int b = 0; b < blocks; ++b)
    for (int t = 0; t < 32; ++t) {
      float wanted = 0;
      for (int row = 0; row < 8; ++row) wanted += all[(b * 8 + row) * 32 + t];
      good = same("own matrix", got[b * 32 + t], wanted) && good;
    }
  cudaFree(maps);
  cudaFree(d);
  return good;
}

static bool neighbors_are_right() {
  const int wide = 4, high = 2, blocks = wide * high;
  int* out = on_device(std::vector<int>(64 * blocks));
  auto* halves = on_device(std::vector<unsigned short>(256 * blocks));
  neighbors<<<dim3(wide, high), 32>>>(out, halves);
  CHECK(cudaGetLastError());
  const std::vector<int> got = back(out, 64 * blocks);
  const std::vector<unsigned short> tiles = back(halves, 256 * blocks);
  bool good = true;
  for (int block = 0; block < blocks; ++block) {
    const int x = block % wide, y = block / wide, rank = x % 2 + 2 * (y % 2), before = (rank + 3) % 4;
    const int sender = x / 2 * 2 + before % 2 + wide * (y / 2 * 2 + before / 2);
    for (int t = 0; t < 32; ++t) {
      good = same("value of a neighbor", got[64 * block + 2 * t], 100 * before + t) && good;
      good = same("block of a neighbor", got[64 * block + 2 * t + 1], sender) && good;
    }
    for (int k = 0; k < 256; ++k) good = same("half", tiles[256 * block + k], k) && good;
  }
  return good;
}

__global__ void nothing() {}

/// Launches that no GPU accepts, and what it says about clusters.
static bool limits() {
  cudaLaunchAttribute size{};
  size.id = cudaLaunchAttributeClusterDimension;
  cudaLaunchConfig_t config{};
  config.gridDim = 16;
  config.blockDim = 1;
  config.attrs = &size;
  config.numAttrs = 1;
  const auto launched = [&](unsigned blocks) {
    size.val.clusterDim.x = blocks;
    size.val.clusterDim.y = size.val.clusterDim.z = 1;
    const cudaError_t error = cudaLaunchKernelEx(&config, nothing);
    cudaGetLastError();
    return error;
  };
  bool good = launched(8) == cudaSuccess && launched(16) == cudaErrorInvalidClusterSize &&
              launched(3) == cudaErrorInvalidClusterSize;
  CHECK(cudaFuncSetAttribute(nothing, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  good = launched(16) == cudaSuccess && good;
  int clusters = 0, largest = 0;
  size.val.clusterDim.x = 16;
  config.dynamicSmemBytes = 200 << 10;
  CHECK(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10));
  CHECK(cudaOccupancyMaxActiveClusters(&clusters, nothing, &config));
  CHECK(cudaOccupancyMaxPotentialClusterSize(&largest, nothing, &config));
  CHECK(cudaDeviceSynchronize());
  return same("clusters at once", clusters, 8) && same("largest cluster", largest, 16) && good;
}

#define WRONG(name, run) \
  if (argc > 1 && std::strcmp(argv[1], #name) == 0) return run<name>(), 0;

int main(int argc, char** argv) {
  WRONG(sum_without_sync, sums)
  WRONG(sum_block_barrier, sums)
  WRONG(sum_no_sync_at_end, sums)
  WRONG(sum_wrong_rank, sums)
  WRONG(sum_writes_peer, sums)
  WRONG(tile_half_bytes, tiles)
  WRONG(tile_no_cluster_sync, tiles)
  WRONG(tile_own_empty, tiles)
  WRONG(tile_wrong_mask, tiles)
  WRONG(tile_no_sync_at_end, tiles)
  WRONG(add_no_fence, additions)
  WRONG(add_no_wait, additions)
  WRONG(add_plain_store, additions)
  WRONG(split_no_wait, splits)
  WRONG(split_too_many_bytes, splits)
  WRONG(split_own_barrier, splits)
  WRONG(split_arrive_twice, splits)
  WRONG(pair_reads_early, pairs)
  WRONG(pair_never_waits, pairs)
  WRONG(pair_writes_early, pairs)
  WRONG(boxes_no_fence, exchanges)
  WRONG(boxes_source_reused, exchanges)
  WRONG(map_not_acquired, matrices)
  WRONG(map_bad_box, matrices)
  const bool good = sums<kNone>() & handed_over() & tiles<kNone>() & additions<kNone>() & splits<kNone>() &
                    pairs<kNone>() & exchanges<kNone>() & matrices<kNone>() & neighbors_are_right() &
                    limits();
  if (good) std::printf("clusters passed\n");
  return good ? 0 : 1;
}
