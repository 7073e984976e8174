// Kernels of producers and consumers on Hopper's instructions, right and with one fault each (test_hopper.cpp): a product by
// wgmma of tiles that TMA fetches, copies of boxes of one to five dimensions, stores by TMA, named barriers.
#include <cstring>
#include <stdexcept>

#include "kernels/common/cuda_hopper.h"

#include "harness/simt/tensor_map.h"
#include "tests/simt/kernels/hopper_faults.h"

#define KLAB_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

namespace cuda = klab::cuda;
namespace simt = klab::simt;
using namespace klab::hopper;
using namespace klab::faults;

constexpr int kRows = 64, kColumns = 128, kDepth = 64, kStages = 2, kThreads = 256, kGroup = 128;

struct Tiles {
  __nv_bfloat16 a[kRows * kDepth], b[kColumns * kDepth];
};
struct Shared {
  Tiles tiles[kStages];
  uint64_t full[kStages], empty[kStages];
};

CUtensorMap encoded(const simt::TensorTiling& what) {
  CUtensorMap map;
  const std::string rule = simt::encode_tiled(&map, what);
  if (!rule.empty()) throw std::runtime_error(rule);
  return map;
}

CUtensorMap map_of_rows(const __nv_bfloat16* from, int rows, int columns, int box_rows) {
  const cuuint64_t sizes[] = {cuuint64_t(columns), cuuint64_t(rows)}, strides[] = {cuuint64_t(columns) * 2};
  const cuuint32_t box[] = {kDepth, cuuint32_t(box_rows)}, steps[] = {1, 1};
  return encoded({CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<__nv_bfloat16*>(from), sizes, strides, box,
                  steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE});
}

/// C[64,128] = A[64,64·steps] B[128,64·steps]^T: thread 128 fetches, the first four warps multiply.
template <Fault fault>
__global__ void __launch_bounds__(kThreads)
    multiply(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b, float* c,
             int steps) {
  KLAB_DYNAMIC_SHARED(unsigned char, bytes);
  Shared& shared = *reinterpret_cast<Shared*>(bytes);
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      barrier_init(&shared.full[stage], fault == Fault::two_producers ? 2 : 1);
      barrier_init(&shared.empty[stage], 1);
    }
    barrier_publish();
  }
  __syncthreads();
  if (threadIdx.x >= kGroup) {
    if (threadIdx.x != kGroup) return;
    for (int step = 0; step < steps; ++step) {
      const int stage = step % kStages;
      Tiles& tiles = shared.tiles[stage];
      const bool waits = fault != Fault::no_wait_for_empty;
      if (waits) barrier_wait(&shared.empty[stage], (step / kStages & 1) ^ 1);
      barrier_expect(&shared.full[stage], fault == Fault::too_few_bytes    ? sizeof tiles.a
                                          : fault == Fault::too_many_bytes ? sizeof tiles + 16
                                                                           : sizeof tiles);
      fetch_box(tiles.a, &map_a, 0, step * kDepth, &shared.full[stage]);
      fetch_box(tiles.b, &map_b, 0, step * kDepth, &shared.full[stage]);
    }
    return;
  }
  float sums[kColumns / 8][4] = {}, all[kColumns / 8][4] = {};
  for (int step = 0; step < steps; ++step) {
    const int stage = step % kStages;
    const uint32_t parity = step / kStages & 1;
    if (fault != Fault::no_wait_for_full)
      barrier_wait(&shared.full[stage], fault == Fault::wrong_parity ? parity ^ 1 : parity);
    uint64_t a = describe_k_major(shared.tiles[stage].a), b = describe_k_major(shared.tiles[stage].b);
    if (fault == Fault::wrong_swizzle) b = (b & ~(uint64_t(3) << 62)) | uint64_t(2) << 62;
    if (fault == Fault::wrong_stride) b = (b & ~(uint64_t(0x3FFF) << 32)) | uint64_t(512 >> 4) << 32;
    if (fault != Fault::no_fence) multiply_begin();
    const bool all_warps = fault != Fault::three_warps || threadIdx.x < 96;
    for (int p = 0; p < kDepth / 16 && all_warps; ++p) {
      multiply_bf16_along_k(sums, a + p * kNextK, b + p * kNextK);
      if (fault == Fault::sums_written && p == 1) sums[0][0] = 1;
    }
    multiply_commit();
    if (fault == Fault::releases_early && threadIdx.x == 0) barrier_arrive(&shared.empty[stage]);
    if (fault == Fault::no_wait_group)
      multiply_wait<1>();
    else
      multiply_wait<0>();
    if (fault != Fault::releases_early && fault != Fault::never_releases && threadIdx.x == 0)
      barrier_arrive(&shared.empty[stage]);
    if (fault == Fault::releases_twice && threadIdx.x == 0) barrier_arrive(&shared.empty[stage]);
    if (fault != Fault::none) continue;
    // Each step's sums are added apart: a warp may be a step ahead of another of its group.
    for (int s = 0; s < kColumns / 8; ++s)
      for (int e = 0; e < 4; ++e) {
        all[s][e] += sums[s][e];
        sums[s][e] = 0;
      }
  }
  const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  for (int s = 0; s < kColumns / 8; ++s)
    for (int e = 0; e < 4; ++e)
      c[(warp * 16 + lane / 4 + e / 2 * 8) * kColumns + s * 8 + lane % 4 * 2 + e % 2] =
          fault == Fault::none ? all[s][e] : sums[s][e];
}

template <Fault fault>
void launch_multiply(const CUtensorMap& a, const CUtensorMap& b, float* c, int steps) {
  cuda::allow_shared(multiply<fault>, sizeof(Shared));
  cuda::launch(multiply<fault>, dim3(1), dim3(kThreads), sizeof(Shared), a, b, c, steps);
}
template <int... faults>
void launch_any(int which, const CUtensorMap& a, const CUtensorMap& b, float* c, int steps,
                std::integer_sequence<int, faults...>) {
  ((which == faults ? launch_multiply<Fault(faults)>(a, b, c, steps) : void()), ...);
}

/// Each thread writes four numbers of a tile, thread 0 stores it by TMA, twice from the same shared memory.
template <StoreFault fault>
__global__ void store_twice(const __grid_constant__ CUtensorMap map) {
  __shared__ __align__(1024) float tile[8 * 32];
  for (int turn = 0; turn < 2; ++turn) {
    for (int k = 0; k < 4; ++k)
      tile[k * blockDim.x + threadIdx.x] = float(turn * 1000 + k * int(blockDim.x) + int(threadIdx.x));
    if (fault != StoreFault::no_fence) publish_to_copies();
    if (fault != StoreFault::no_barrier) __syncthreads();
    if (threadIdx.x == 0) {
      store_box(&map, turn * 8, 0, tile);
      store_commit();
      if (fault != StoreFault::no_wait && (fault != StoreFault::no_wait_at_end || turn == 0))
        store_wait_read<0>();
    }
    __syncthreads();
  }
}
template <StoreFault fault>
void launch_store(const CUtensorMap& map) {
  cuda::launch(store_twice<fault>, dim3(1), dim3(64), 0, map);
}

/// Fetches one box and writes shared memory as it is.
__global__ void fetch_any(const __grid_constant__ CUtensorMap map, int rank, int x, int y, int z,
                          unsigned bytes, unsigned char* out) {
  KLAB_DYNAMIC_SHARED(unsigned char, tile);
  auto* barrier = reinterpret_cast<uint64_t*>(tile + (bytes + 127) / 128 * 128);
  if (threadIdx.x == 0) {
    barrier_init(barrier, 1);
    barrier_publish();
    barrier_expect(barrier, bytes);
    const int at[] = {x, y, z, 0, 0};
    simt::tensor_load(tile, &map, rank, at, barrier, __FILE__, __LINE__);
  }
  __syncthreads();
  barrier_wait(barrier, 0);
  for (unsigned k = threadIdx.x; k < bytes; k += blockDim.x) out[k] = tile[k];
}

/// One warp fills a buffer, one doubles it: named barrier 1 says full, 2 says empty.
template <NamedFault fault>
__global__ void hand_over(int turns, int* out) {
  __shared__ int buffer[32];
  const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  for (int turn = 0; turn < turns; ++turn) {
    if (warp == 0) {
      if (turn > 0 && fault != NamedFault::no_wait_for_empty)
        simt::named_barrier(2, 64, true, __FILE__, __LINE__);
      buffer[lane] = turn * 32 + lane;
      simt::named_barrier(1, fault == NamedFault::other_count ? 32 : 64, false, __FILE__, __LINE__);
    } else {
      if (fault != NamedFault::no_wait_for_full) simt::named_barrier(1, 64, true, __FILE__, __LINE__);
      out[turn * 32 + lane] = 2 * buffer[lane ^ 1];
      if (turn + 1 < turns && fault != NamedFault::never_empty)
        simt::named_barrier(2, 64, false, __FILE__, __LINE__);
    }
  }
}
template <int... faults>
void launch_named(int which, int turns, int* out, std::integer_sequence<int, faults...>) {
  ((which == faults ? cuda::launch(hand_over<NamedFault(faults)>, dim3(1), dim3(64), 0, turns, out) : void()),
   ...);
}

__global__ void ask_registers(int first, int second) {
  simt::set_registers(threadIdx.x < 128 ? unsigned(first) : unsigned(second), threadIdx.x >= 128, __FILE__,
                      __LINE__);
}

/// Bulk copy of neighbors, by the lane that is elected.
__global__ void copy_neighbors(const float* from, int n, float* to) {
  __shared__ __align__(128) float buffer[256];
  __shared__ uint64_t barrier;
  uint32_t leader = 99;
  const bool me = simt::elect(~0U, &leader, __FILE__, __LINE__);
  if (me) {
    barrier_init(&barrier, 1);
    barrier_publish();
    barrier_expect(&barrier, uint32_t(n) * 4);
    simt::bulk_load(buffer, from, uint32_t(n) * 4, &barrier, __FILE__, __LINE__);
  }
  __syncwarp();
  barrier_wait(&barrier, 0);
  for (int k = int(threadIdx.x); k < n; k += 32) to[k] = buffer[k] + float(leader);
}

}  // namespace

/// c[64,128] = a[64,64·steps] b[128,64·steps]^T with that fault. Bits of bfloat16.
KLAB_EXPORT void hopper_product(int fault, int steps, const uint16_t* a, const uint16_t* b, float* c) {
  const size_t bytes_a = size_t(kRows * kDepth * steps) * 2, bytes_b = size_t(kColumns * kDepth * steps) * 2,
               bytes_c = size_t(kRows * kColumns) * 4;
  const cuda::Scratch da(bytes_a), db(bytes_b), dc(bytes_c);
  cuda::upload(da.as<void>(), a, bytes_a);
  cuda::upload(db.as<void>(), b, bytes_b);
  launch_any(fault, map_of_rows(da.as<__nv_bfloat16>(), kRows, kDepth * steps, kRows),
             map_of_rows(db.as<__nv_bfloat16>(), kColumns, kDepth * steps, kColumns), dc.as<float>(), steps,
             std::make_integer_sequence<int, int(Fault::count)>{});
  cuda::download(c, dc.as<void>(), bytes_c);
}

/// Stores [16,32] in two boxes.
KLAB_EXPORT void hopper_store(int fault, float* c) {
  constexpr size_t bytes = 16 * 32 * 4;
  const cuda::Scratch dc(bytes);
  cuda::fill_zero(dc.as<void>(), bytes);
  const cuuint64_t sizes[] = {32, 16}, strides[] = {128};
  const cuuint32_t box[] = {32, 8}, steps[] = {1, 1};
  const CUtensorMap map =
      encoded({CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, dc.as<void>(), sizes, strides, box, steps,
               CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE});
  switch (StoreFault(fault)) {
    case StoreFault::none:
      launch_store<StoreFault::none>(map);
      break;
    case StoreFault::no_fence:
      launch_store<StoreFault::no_fence>(map);
      break;
    case StoreFault::no_barrier:
      launch_store<StoreFault::no_barrier>(map);
      break;
    case StoreFault::no_wait:
      launch_store<StoreFault::no_wait>(map);
      break;
    case StoreFault::no_wait_at_end:
      launch_store<StoreFault::no_wait_at_end>(map);
      break;
  }
  cuda::download(c, dc.as<void>(), bytes);
}

/// Fetches the box at (x, y, z) of a tensor of bytes and returns what shared memory holds then.
KLAB_EXPORT void hopper_fetch(int rank, int swizzle, const cuuint64_t* sizes, const cuuint64_t* strides,
                              const cuuint32_t* box, const unsigned char* from, size_t from_bytes,
                              const int* at, unsigned char* out, unsigned bytes) {
  const cuda::Scratch tensor(from_bytes), result(bytes);
  cuda::upload(tensor.as<void>(), from, from_bytes);
  const cuuint32_t steps[] = {1, 1, 1, 1, 1};
  const CUtensorMap map = encoded({CU_TENSOR_MAP_DATA_TYPE_UINT8, unsigned(rank), tensor.as<void>(), sizes,
                                   strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                   CUtensorMapSwizzle(swizzle), CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE});
  cuda::allow_shared(fetch_any, bytes + 256);
  cuda::launch(fetch_any, dim3(1), dim3(32), bytes + 256, map, rank, at[0], at[1], at[2], bytes,
               result.as<unsigned char>());
  cuda::download(out, result.as<void>(), bytes);
}

KLAB_EXPORT void hopper_hand_over(int fault, int turns, int* out) {
  const cuda::Scratch result(size_t(turns) * 128);
  launch_named(fault, turns, result.as<int>(), std::make_integer_sequence<int, int(NamedFault::count)>{});
  cuda::download(out, result.as<void>(), size_t(turns) * 128);
}

KLAB_EXPORT void hopper_registers(int first, int second) {
  cuda::launch(ask_registers, dim3(1), dim3(384), 0, first, second);
}

KLAB_EXPORT void hopper_bulk(int n, const float* from, float* to) {
  const cuda::Scratch a(1024), b(1024);
  cuda::upload(a.as<void>(), from, 1024);
  cuda::launch(copy_neighbors, dim3(1), dim3(32), 0, a.as<float>(), n, b.as<float>());
  cuda::download(to, b.as<void>(), size_t(n) * 4);
}
