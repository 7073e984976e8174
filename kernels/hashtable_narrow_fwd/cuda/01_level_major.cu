// hashtable_narrow_fwd.cuda.01_level_major: one thread per point and level, numbers widened as they are read.
//
// CHANGE    the definition; levels are the grid's second dimension, so that one level's part of the table is
//           in use at a time.
// EXPECT    bound by reads at random places, as hashtable_fwd's. A sector holds twice or four times as many entries, and so
//           does L2: fewer sectors/request where neighbors share one, fewer misses everywhere.
// NUMERICS  float; a product of weights a corner, corners summed in order, a level's factor behind the sum.
#include <cstring>

#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/hashgrid/table_device.h"
#include "reference/hashtable_narrow_fwd/hashtable_narrow_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 128;

/// A number in 16 bits, as a float.
template <int64_t kFormat>
__device__ __forceinline__ float widened(uint16_t bits) {
  if constexpr (kFormat == narrow_format::bf16) return __uint_as_float(uint32_t(bits) << 16);
  __half half;
  memcpy(static_cast<void*>(&half), &bits, sizeof(half));
  return __half2float(half);
}

template <int64_t kFormat>
__global__ void __launch_bounds__(kThreads)
    encode(HashtableShape s, const float* __restrict__ positions, const float* __restrict__ scales,
           const int64_t* __restrict__ sizes, const uint16_t* __restrict__ halves,
           const int8_t* __restrict__ bytes, const float* __restrict__ factors,
           float* __restrict__ features) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= s.n) return;
  const int l = int(blockIdx.y), hash = int(s.hash), blend = int(s.blend);
  const int corners = blend == table_blend::nearest ? 1 : 8, of_level = int(s.features);
  const TableDeviceLevel level = table_device_level(scales, sizes, l);
  const TableDeviceCell cell = table_device_cell(positions, s.n, i, level.scale, blend);
  float sum[8] = {};
  for (int c = 0; c < corners; ++c) {
    float weight;
    const uint32_t index = table_device_corner(level, cell, hash, c, weight);
    const int64_t first = (level.offset + index) * of_level;
    for (int f = 0; f < of_level; ++f) {
      if constexpr (kFormat == narrow_format::int8) {
        sum[f] += weight * float(bytes[first + f]);
      } else {
        sum[f] += weight * widened<kFormat>(halves[first + f]);
      }
    }
  }
  for (int f = 0; f < of_level; ++f) {
    const int64_t row = int64_t(l) * of_level + f;
    features[row * s.n + i] = kFormat == narrow_format::int8 ? sum[f] * factors[row] : sum[f];
  }
}

template <int64_t kFormat>
void launch(const HashtableNarrowFwd::Args<float>& x) {
  const auto blocks = unsigned((x.shape.n + kThreads - 1) / kThreads);
  cuda::launch(encode<kFormat>, dim3(blocks, unsigned(x.shape.levels)), dim3(kThreads), 0, x.shape.table(),
               x.positions, x.scales, x.sizes, x.halves, x.bytes, x.factors, x.features);
}

void run(const HashtableNarrowFwd::Args<float>& x) {
  if (x.shape.n == 0) return;
  if (x.shape.format == narrow_format::f16) return launch<narrow_format::f16>(x);
  if (x.shape.format == narrow_format::bf16) return launch<narrow_format::bf16>(x);
  launch<narrow_format::int8>(x);
}

KLAB_VARIANT(HashtableNarrowFwd, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
