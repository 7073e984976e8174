// hashgrid_bwd.cuda.02_half2_atomics: two features by one atomic, in half precision.
//
// CHANGE    contributions are added to a table of halves, two neighbors by one atomic instruction; when all
//           have arrived that table is added to the gradient. Halves have few exponents, so gradients are
//           first multiplied by a power of two, found from the largest of the level and the number of points:
//           no sum can overflow. Contributions that are still too small are added to the float table, as in
//           the parent. (Mixed-precision training calls the factor the loss scale, and guesses it.)
// EXPECT    half as many atomics and half as many bytes for them: up to twice the parent. Another pass over
//           the gradients and two over the half table take part of it back, unless points are many.
// NUMERICS  half precision accumulator: each addition rounds to 11 bits, and a sum no longer changes when it
//           is 2^11 times as large as the addend. Contributions in the order in which they arrive.
// NEEDS     compute capability 6.0; a scratch table.
// TRIED     see NOTES.md, cuda.02_half2_atomics
// SASS      ATOM.F16x2 REDG.F32; no LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/hashgrid/device.h"
#include "reference/hashgrid_bwd/hashgrid_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 128;

/// Bits of the largest |gradient| of each level: bits of floats without sign ascend as the floats do.
__global__ void __launch_bounds__(kThreads)
    find_largest(int64_t values, const float* __restrict__ d_features, unsigned* __restrict__ largest) {
  unsigned most = 0;
  for (int64_t k = int64_t(blockIdx.x) * kThreads + threadIdx.x; k < values;
       k += int64_t(gridDim.x) * kThreads)
    most = max(most, __float_as_uint(d_features[int64_t(blockIdx.y) * values + k]) & 0x7FFFFFFFU);
  for (int step = 16; step > 0; step /= 2) most = max(most, __shfl_xor_sync(~0U, most, step));
  if (threadIdx.x % 32 == 0) atomicMax(largest + blockIdx.y, most);
}

/// Returns the exponent k of a factor 2^k with which a sum of n gradients stays below 2^14, and below twice
/// that with rounding. Within the range of a float.
__device__ __forceinline__ int scale_exponent(unsigned largest_bits, int64_t n) {
  const int exponent = int(largest_bits >> 23) - 127;  // largest < 2^(exponent+1)
  int room = 13 - exponent;
  for (int64_t m = n - 1; m > 0; m >>= 1) --room;  // ceil(log2(n))
  return max(-126, min(room, 100));
}

__device__ __forceinline__ float power_of_two(int exponent) {
  return __uint_as_float(unsigned(exponent + 127) << 23);
}

/// Half has all 11 bits for it.
__device__ __forceinline__ bool is_normal(float value) { return value == 0 || fabsf(value) >= 0x1p-14F; }

template <int kDim, int kFeatures>
__global__ void __launch_bounds__(kThreads)
    scatter(HashgridLevels levels, int64_t n, const float* __restrict__ positions,
            const float* __restrict__ d_features, const unsigned* __restrict__ largest,
            float* __restrict__ d_table, __half2* __restrict__ half_table) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  const HashgridLevel& level = levels.at[blockIdx.y];
  const float scale = power_of_two(scale_exponent(largest[blockIdx.y], n));
  const auto cell = hashgrid_cell<kDim>(positions, n, i, level.scale);
  float gradient[kFeatures];
  for (int f = 0; f < kFeatures; ++f) gradient[f] = d_features[(int64_t(blockIdx.y) * kFeatures + f) * n + i];
  for (int c = 0; c < 1 << kDim; ++c) {
    const float weight = hashgrid_weight(cell, c);
    const int64_t first = (level.offset + hashgrid_entry(level, cell, c)) * kFeatures;
    for (int f = 0; f < kFeatures; f += 2) {
      // One feature shares its pair of halves with the neighboring entry's, to which it adds 0.
      const float low = weight * gradient[f],
                  high = kFeatures == 1 ? 0 : weight * gradient[(f + 1) % kFeatures];
      if (!is_normal(low * scale) || !is_normal(high * scale)) {
        atomicAdd(d_table + first + f, low);
        if (kFeatures > 1) atomicAdd(d_table + first + f + 1, high);
        continue;
      }
      const bool odd = kFeatures == 1 && first % 2 == 1;
      const __half2 pair =
          odd ? __floats2half2_rn(0, low * scale) : __floats2half2_rn(low * scale, high * scale);
      atomicAdd(half_table + (first + f) / 2, pair);
    }
  }
}

/// Two neighboring halves back to their size, and into the gradient.
__global__ void __launch_bounds__(kThreads)
    add_halves(HashgridLevels levels, int features, int64_t n, const unsigned* __restrict__ largest,
               const __half2* __restrict__ half_table, float* __restrict__ d_table) {
  const HashgridLevel& level = levels.at[blockIdx.y];
  const float unscale = power_of_two(-scale_exponent(largest[blockIdx.y], n));
  const int64_t end = (level.offset + level.entries) * features / 2;
  int64_t k = level.offset * features / 2 + int64_t(blockIdx.x) * kThreads + threadIdx.x;
  for (; k < end; k += int64_t(gridDim.x) * kThreads) {
    const __half2 pair = half_table[k];
    d_table[2 * k] += __low2float(pair) * unscale;
    d_table[2 * k + 1] += __high2float(pair) * unscale;
  }
}

void run(const HashgridBwd::Args<float>& x) {
  const HashgridShape& s = x.shape;
  if (s.n == 0) return;
  const HashgridLevels levels = hashgrid_device_levels(s);
  const HashgridLevel& last = levels.at[s.levels - 1];
  const int64_t values =
      (last.offset + last.entries) * s.features;  // even: a level has an even number of entries
  cuda::Scratch scratch(size_t(values) * 2 + 32 * sizeof(unsigned));
  auto* largest = scratch.as<unsigned>();
  auto* halves = reinterpret_cast<__half2*>(largest + 32);
  cuda::fill_zero(largest, size_t(values) * 2 + 32 * sizeof(unsigned));
  const dim3 threads(kThreads),
      some(unsigned(std::min<int64_t>((s.n + kThreads - 1) / kThreads, 64)), unsigned(s.levels));
  cuda::launch(find_largest, some, threads, 0, s.n * s.features, x.d_features, largest);
  const dim3 all(unsigned((s.n + kThreads - 1) / kThreads), unsigned(s.levels));
  hashgrid_dispatch(s, [&](auto dim, auto features) {
    cuda::launch(scatter<dim(), features()>, all, threads, 0, levels, s.n, x.positions, x.d_features, largest,
                 x.d_table, halves);
  });
  cuda::launch(add_halves, dim3(64, unsigned(s.levels)), threads, 0, levels, int(s.features), s.n, largest,
               halves, x.d_table);
}

KLAB_VARIANT(HashgridBwd, {.run = run,
                           .parent = "01_float_atomics",
                           .forward = "02_level_major",
                           .numerics = {.unit = Unit::f16, .deterministic = false},
                           .tiles = {kThreads},
                           .expect = {.shape = {1 << 18, 3, 16, 2, 19, 16, 2048, 0}, .over_parent = 1.2}});

}  // namespace
}  // namespace klab
