// Copies of tiles as programs write them with libcu++: barriers of cuda::barrier that wait for bytes, its functions for boxes, pixels of
// im2col, elements outside a tensor as NaN, reductions in shared memory of a cluster, tensor maps that a kernel changes.
//
// With a name as argument one of the wrong versions runs; each has one fault, found at the line that is marked with the name.
#include <cooperative_groups.h>
#include <cuda.h>
#include <cuda_runtime.h>
#include <cuda/barrier>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "check.h"

namespace cg = cooperative_groups;
namespace cde = cuda::device::experimental;
namespace ptx = cuda::ptx;
using barrier = cuda::barrier<cuda::thread_scope_block>;

enum Fault {
  kNone,
  box_no_bytes,
  box_no_wait,
  box_no_fence,
  box_map_of_host,
  pixels_as_box,
  sums_not_set,
  sums_read_early,
  sums_other_barrier,
  last_no_complete,
};

// The programming guide's example: a box is fetched, changed, and stored.

constexpr int kRows = 8, kColumns = 32, kHigh = 20, kWide = 96;

template <Fault fault>
__global__ void doubled(const __grid_constant__ CUtensorMap map, const CUtensorMap* map_of_host) {
  __shared__ alignas(128) int tile[kRows][kColumns];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ barrier bar;
  if (threadIdx.x == 0) {
    init(&bar, blockDim.x);
    cde::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  const int x = blockIdx.x * kColumns, y = blockIdx.y * kRows;
  barrier::arrival_token token;
  if (threadIdx.x == 0) {
    const CUtensorMap* from = fault == box_map_of_host ? map_of_host : &map;
    cde::cp_async_bulk_tensor_2d_global_to_shared(tile, from, x, y, bar);  // at box_no_bytes, box_map_of_host
    token = fault == box_no_bytes ? bar.arrive() : cuda::device::barrier_arrive_tx(bar, 1, sizeof(tile));
  } else {
    token = bar.arrive();
  }
  if (fault != box_no_wait) bar.wait(std::move(token));               // at box_no_bytes
  for (int row = 0; row < kRows; ++row) tile[row][threadIdx.x] *= 2;  // at box_no_wait
  if (fault != box_no_fence) cde::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_tensor_2d_shared_to_global(&map, x, y, tile);  // at box_no_fence
    cde::cp_async_bulk_commit_group();
    cde::cp_async_bulk_wait_group_read<0>();
  }
}

// Neighbors: in bulk by one thread, and by all threads together, for one barrier.

__global__ void neighbors(const float* in, float* out) {
  __shared__ alignas(16) float bulk[64], pieces[64];
  __shared__ barrier bar;
  const auto block = cg::this_thread_block();
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(block, pieces, in + 64, sizeof(pieces), bar);
  barrier::arrival_token token;
  if (threadIdx.x == 0) {
    cuda::device::memcpy_async_tx(bulk, in, cuda::aligned_size_t<16>(sizeof(bulk)), bar);
    cuda::device::barrier_expect_tx(bar, sizeof(bulk) - 16);
    token = cuda::device::barrier_arrive_tx(bar, 1, 16);
  } else {
    token = bar.arrive();
  }
  bar.wait(std::move(token));
  out[threadIdx.x] = bulk[63 - threadIdx.x] + pieces[threadIdx.x];
}

// A box that reaches beyond its tensor, whose elements there are NaN; a barrier of libcu++'s PTX functions.

template <Fault fault>
__global__ void count_nans(const __grid_constant__ CUtensorMap map, int* out) {
  __shared__ alignas(128) float tile[4 * 32];
  __shared__ alignas(8) uint64_t bar;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&bar, 33);
    ptx::fence_proxy_async(ptx::space_shared);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, sizeof(tile));
    const int32_t at[] = {int32_t(ptx::get_sreg_ctaid_x()) * 16, 2};
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, &map, at, &bar);
  }
  __syncwarp();
  const uint64_t state = fault == last_no_complete
                             ? ptx::mbarrier_arrive_no_complete(&bar, 1u)  // at last_no_complete
                             : ptx::mbarrier_arrive(&bar);
  while (!ptx::mbarrier_try_wait(&bar, state, 1000u)) {
  }
  int nans = 0;
  for (int row = 0; row < 4; ++row) nans += isnan(tile[row * 32 + threadIdx.x]);
  atomicAdd(out + blockIdx.x, nans);
}

// A convolution of 3 x 3 with a border of zeros and a stride of two, channel by channel: a tap is a copy of pixels.

constexpr int kSide = 8, kImages = 2, kChannels = 16, kPixels = 16;

__device__ void fetch_pixels(void* to, const CUtensorMap* map, int w, int h, int n, uint16_t dw, uint16_t dh,
                             uint64_t* bar) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
      "%3, "
      "%4, %5}], [%6], {%7, %8};" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(to))),
      "l"(map), "r"(0), "r"(w), "r"(h), "r"(n), "r"(static_cast<uint32_t>(__cvta_generic_to_shared(bar))),
      "h"(dw), "h"(dh)
      : "memory");
}

template <Fault fault>
__global__ void convolved(const __grid_constant__ CUtensorMap map, const float* weights, float* out) {
  __shared__ alignas(128) float taps[kPixels][kChannels];
  __shared__ barrier bar;
  const int t = threadIdx.x, image = blockIdx.x;
  if (t == 0) init(&bar, blockDim.x);
  __syncthreads();
  float sum[kPixels] = {};
  for (int tap = 0; tap < 9; ++tap) {
    barrier::arrival_token token;
    if (t == 0) {
      if (fault == pixels_as_box) {
        const int32_t at[] = {0, -1, -1, image};
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, taps, &map, at,  // at pixels_as_box
                                  cuda::device::barrier_native_handle(bar));              // at pixels_as_box
      } else {
        fetch_pixels(taps, &map, -1, -1, image, tap % 3, tap / 3, cuda::device::barrier_native_handle(bar));
      }
      token = cuda::device::barrier_arrive_tx(bar, 1, sizeof(taps));
    } else {
      token = bar.arrive();
    }
    bar.wait(std::move(token));
    for (int p = 0; p < kPixels; ++p) sum[p] += weights[tap] * taps[p][t];
    __syncthreads();
  }
  for (int p = 0; p < kPixels; ++p) out[(image * kPixels + p) * kChannels + t] = sum[p];
}

// All blocks of a cluster add to sums in the shared memory of the first one, from registers and from their own memory.

constexpr int kBlocks = 4;

template <Fault fault>
__global__ void __cluster_dims__(kBlocks, 1, 1) sums_of_cluster(int* out) {
  __shared__ alignas(16) int sums[32], mine[32];
  __shared__ alignas(8) uint64_t bar;
  const auto cluster = cg::this_cluster();
  const int t = threadIdx.x, rank = cluster.block_rank();
  mine[t] = 100 * (rank + 1);
  if (fault != sums_not_set) sums[t] = t;
  if (t == 0) {
    ptx::mbarrier_init(&bar, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar,
                                   rank == 0 ? kBlocks * 2 * sizeof(sums) : 0);
  }
  ptx::fence_proxy_async();
  cluster.sync();
  int* const there = cluster.map_shared_rank(sums, 0);
  uint64_t* const full = cluster.map_shared_rank(&bar, fault == sums_other_barrier ? 1 : 0);
  ptx::red_async(ptx::op_add, there + t, rank, full);  // at sums_not_set, sums_other_barrier
  if (t == 0)
    ptx::cp_reduce_async_bulk(ptx::space_cluster, ptx::space_shared, ptx::op_add, there, mine, sizeof(mine),
                              full);
  if (rank == 0) {
    while (fault != sums_read_early && !ptx::mbarrier_try_wait_parity(&bar, 0)) {
    }
    out[32 * (blockIdx.x / kBlocks) + t] = sums[t];  // at sums_read_early
  }
  cluster.sync();
}

// Each block fetches the rows of its own matrix by a map that it has changed.

__global__ void own_matrix(const __grid_constant__ CUtensorMap any, CUtensorMap* maps, float* matrices,
                           float* out) {
  __shared__ alignas(128) CUtensorMap map;
  __shared__ alignas(128) float tile[4 * 32];
  __shared__ barrier bar;
  const unsigned t = threadIdx.x;
  if (t < 8) reinterpret_cast<uint4*>(&map)[t] = reinterpret_cast<const uint4*>(&any)[t];
  if (t == 0) init(&bar, 32);
  __syncwarp();
  if (t == 0) {
    ptx::tensormap_replace_global_address(ptx::space_shared, &map, matrices + 8 * 32 * blockIdx.x);
    ptx::tensormap_replace_global_dim(ptx::space_shared, &map, ptx::n32_t<1>(), 8);
    ptx::tensormap_replace_fill_mode(ptx::space_shared, &map, ptx::n32_t<0>());
  }
  __syncwarp();
  CUtensorMap* const mine = maps + blockIdx.x;
  ptx::tensormap_cp_fenceproxy(ptx::sem_release, ptx::scope_gpu, mine, &map, ptx::n32_t<128>());
  barrier::arrival_token token;
  if (t == 0) {
    ptx::fence_proxy_tensormap_generic(ptx::sem_acquire, ptx::scope_gpu, mine, ptx::n32_t<128>());
    cde::cp_async_bulk_tensor_2d_global_to_shared(tile, mine, 0, 4, bar);
    token = cuda::device::barrier_arrive_tx(bar, 1, sizeof(tile));
  } else {
    token = bar.arrive();
  }
  bar.wait(std::move(token));
  float sum = 0;
  for (int row = 0; row < 4; ++row) sum += tile[row * 32 + t];
  out[32 * blockIdx.x + t] = sum;
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
/// A matrix in boxes.
static CUtensorMap map_of(CUtensorMapDataType type, void* p, int rows, int columns, int box_rows,
                          int box_columns, CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) {
  CUtensorMap map;
  const cuuint64_t sizes[] = {cuuint64_t(columns), cuuint64_t(rows)}, strides[] = {cuuint64_t(4 * columns)};
  const cuuint32_t box[] = {cuuint32_t(box_columns), cuuint32_t(box_rows)}, steps[] = {1, 1};
  if (cuTensorMapEncodeTiled(&map, type, 2, p, sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                             CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                             fill) != CUDA_SUCCESS)
    std::printf("no tensor map\n");
  return map;
}

template <Fault fault>
static bool boxes() {
  std::vector<int> in(kHigh * kWide);
  for (size_t k = 0; k < in.size(); ++k) in[k] = int(k % 97) - 40;
  int* d = on_device(in);
  const CUtensorMap map = map_of(CU_TENSOR_MAP_DATA_TYPE_INT32, d, kHigh, kWide, kRows, kColumns);
  doubled<fault><<<dim3(kWide / kColumns, (kHigh + kRows - 1) / kRows), kColumns>>>(map, &map);
  CHECK(cudaGetLastError());
  const std::vector<int> got = back(d, in.size());
  bool good = true;
  for (size_t k = 0; k < in.size(); ++k) good = same("box", got[k], 2 * in[k]) && good;
  return good;
}

static bool runs_of_neighbors() {
  std::vector<float> in(128);
  for (int k = 0; k < 128; ++k) in[k] = float(k * k % 31);
  float *d = on_device(in), *out = on_device(std::vector<float>(64));
  neighbors<<<1, 64>>>(d, out);
  CHECK(cudaGetLastError());
  const std::vector<float> got = back(out, 64);
  bool good = true;
  for (int k = 0; k < 64; ++k) good = same("neighbors", got[k], in[63 - k] + in[64 + k]) && good;
  cudaFree(d);
  return good;
}

template <Fault fault>
static bool borders() {
  float* d = on_device(std::vector<float>(5 * 40, 1));
  int* out = on_device(std::vector<int>(2));
  count_nans<fault><<<2, 32>>>(map_of(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, d, 5, 40, 4, 32,
                                      CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA),
                               out);
  CHECK(cudaGetLastError());
  const std::vector<int> got = back(out, 2);
  cudaFree(d);
  // Rows 2 to 5 of 5, columns 0 to 31 and 16 to 47 of 40.
  return same("NaNs", got[0], 32) & same("NaNs", got[1], 32 + 3 * 8);
}

template <Fault fault>
static bool convolutions() {
  const int n = kImages * kSide * kSide * kChannels, m = kImages * kPixels * kChannels;
  std::vector<float> in(n), weights(9);
  for (int k = 0; k < n; ++k) in[k] = float(k % 23) - 11;
  for (int k = 0; k < 9; ++k) weights[k] = float(k % 4) - 1;
  float *d = on_device(in), *w = on_device(weights), *out = on_device(std::vector<float>(m));
  CUtensorMap map;
  const cuuint64_t sizes[] = {kChannels, kSide, kSide, kImages},
                   strides[] = {4 * kChannels, 4 * kChannels * kSide, 4 * kChannels * kSide * kSide};
  // Pixels -1, 1, 3, 5 of each direction: the first ones of the windows, of which the last begins at kSide - 3.
  const int lower[] = {-1, -1}, upper[] = {-2, -2};
  const cuuint32_t steps[] = {1, 2, 2, 1};
  if (cuTensorMapEncodeIm2col(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, d, sizes, strides, lower, upper,
                              kChannels, kPixels, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                              CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                              CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
    std::printf("no map of pixels\n");
  convolved<fault><<<kImages, kChannels>>>(map, w, out);
  CHECK(cudaGetLastError());
  const std::vector<float> got = back(out, m);
  bool good = true;
  for (int k = 0; k < m; ++k) {
    const int c = k % kChannels, p = k / kChannels % kPixels, image = k / kChannels / kPixels;
    float wanted = 0;
    for (int tap = 0; tap < 9; ++tap) {
      const int x = p % 4 * 2 - 1 + tap % 3, y = p / 4 * 2 - 1 + tap / 3;
      if (x >= 0 && x < kSide && y >= 0 && y < kSide)
        wanted += weights[tap] * in[((image * kSide + y) * kSide + x) * kChannels + c];
    }
    good = same("convolution", got[k], wanted) && good;
  }
  cudaFree(d);
  cudaFree(w);
  return good;
}

template <Fault fault>
static bool sums() {
  const int clusters = 2;
  int* out = on_device(std::vector<int>(32 * clusters));
  sums_of_cluster<fault><<<kBlocks * clusters, 32>>>(out);
  CHECK(cudaGetLastError());
  bool good = true;
  const std::vector<int> got = back(out, 32 * clusters);
  for (int k = 0; k < 32 * clusters; ++k) good = same("sum", got[k], k % 32 + 6 + 1000) && good;
  return good;
}

static bool matrices() {
  constexpr int blocks = 3;
  std::vector<float> all(blocks * 8 * 32);
  for (size_t k = 0; k < all.size(); ++k) all[k] = float(k % 17);
  float *d = on_device(all), *out = on_device(std::vector<float>(blocks * 32));
  CUtensorMap* maps;
  CHECK(cudaMalloc(&maps, blocks * sizeof(CUtensorMap)));
  own_matrix<<<blocks, 32>>>(map_of(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, d, 4, 32, 4, 32), maps, d, out);
  CHECK(cudaGetLastError());
  const std::vector<float> got = back(out, blocks * 32);
  bool good = true;
  for (int k = 0; k < blocks * 32; ++k) {
    float wanted = 0;
    for (int row = 4; row < 8; ++row) wanted += all[(k / 32 * 8 + row) * 32 + k % 32];
    good = same("own matrix", got[k], wanted) && good;
  }
  cudaFree(maps);
  cudaFree(d);
  return good;
}

#define WRONG(name, run) \
  if (argc > 1 && std::strcmp(argv[1], #name) == 0) return run<name>(), 0;

int main(int argc, char** argv) {
  WRONG(box_no_bytes, boxes)
  WRONG(box_no_wait, boxes)
  WRONG(box_no_fence, boxes)
  WRONG(box_map_of_host, boxes)
  WRONG(pixels_as_box, convolutions)
  WRONG(sums_not_set, sums)
  WRONG(sums_read_early, sums)
  WRONG(sums_other_barrier, sums)
  WRONG(last_no_complete, borders)
  const bool good = boxes<kNone>() & runs_of_neighbors() & borders<kNone>() & convolutions<kNone>() &
                    sums<kNone>() & matrices();
  if (good) std::printf("tile_copies passed\n");
  return good ? 0 : 1;
}
