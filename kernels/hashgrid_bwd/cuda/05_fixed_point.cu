// hashgrid_bwd.cuda.05_fixed_point: whole numbers add up to the same in any order.
//
// CHANGE    contributions are rounded to multiples of a unit and added as 64-bit whole numbers; the sums
//           become floats at the end. Each entry's feature has a unit of its own, a power of two found from
//           its largest contribution by an atomic maximum in a first pass, small enough to lose nothing and
//           large enough that no sum overflows.
// EXPECT    a second pass of atomics: about half the parent's speed. In return, additions of whole numbers
//           are associative, so two runs agree bit for bit, in any order of the atomics.
// NUMERICS  exact sums of contributions cut off 40 bits or so below the largest of their entry; one rounding
//           to float. Deterministic.
// NEEDS     scratch of 12 bytes per value of the largest level.
// TRIED     see NOTES.md, cuda.05_fixed_point
// SASS      REDG.ADD.64 REDG.MAX; no ATOM ATOMG
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/hashgrid/device.h"
#include "reference/hashgrid_bwd/hashgrid_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 128;
constexpr unsigned kInfinity = 0x7F800000U;

using Fixed = unsigned long long;  // two's complement: additions of unsigned numbers may wrap

/// Bits of the largest |contribution| of each value: bits of floats without sign ascend as the floats do.
template <int kDim, int kFeatures>
__global__ void __launch_bounds__(kThreads)
    find_largest(HashgridLevel level, int64_t n, const float* __restrict__ positions,
                 const float* __restrict__ d_features, unsigned* __restrict__ largest) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  const auto cell = hashgrid_cell<kDim>(positions, n, i, level.scale);
  for (int c = 0; c < 1 << kDim; ++c) {
    const float weight = hashgrid_weight(cell, c);
    unsigned* entry = largest + int64_t(hashgrid_entry(level, cell, c)) * kFeatures;
    for (int f = 0; f < kFeatures; ++f)
      atomicMax(entry + f, __float_as_uint(weight * d_features[f * n + i]) & 0x7FFFFFFFU);
  }
}

/// 2^exponent for exponents of normal doubles.
__device__ __forceinline__ double power_of_two(int exponent) {
  return __longlong_as_double((long long)(exponent + 1023) << 52);
}

/// How many units a contribution of 1 has, as a power of two: 2^count_bits contributions below 2^(e+1), with e the
/// largest one's exponent, stay below 2^62.
__device__ __forceinline__ int unit_exponent(unsigned largest, int count_bits) {
  const int e = max(int(largest >> 23), 1) - 127;  // denormal numbers are below 2^-126
  return 61 - e - count_bits;
}

template <int kDim, int kFeatures>
__global__ void __launch_bounds__(kThreads)
    scatter(HashgridLevel level, int64_t n, int count_bits, const float* __restrict__ positions,
            const float* __restrict__ d_features, const unsigned* __restrict__ largest,
            Fixed* __restrict__ sums) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  const auto cell = hashgrid_cell<kDim>(positions, n, i, level.scale);
  for (int c = 0; c < 1 << kDim; ++c) {
    const float weight = hashgrid_weight(cell, c);
    const int64_t first = int64_t(hashgrid_entry(level, cell, c)) * kFeatures;
    for (int f = 0; f < kFeatures; ++f) {
      const unsigned most = largest[first + f];
      if (most == 0 || most >= kInfinity) continue;
      const double units =
          double(weight * d_features[f * n + i]) * power_of_two(unit_exponent(most, count_bits));
      atomicAdd(sums + first + f, Fixed((long long)units));
    }
  }
}

__global__ void __launch_bounds__(kThreads)
    add_sums(int64_t values, int count_bits, const unsigned* __restrict__ largest,
             const Fixed* __restrict__ sums, float* __restrict__ d_table) {
  const int64_t k = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (k >= values || largest[k] == 0) return;
  const double sum = double((long long)sums[k]) * power_of_two(-unit_exponent(largest[k], count_bits));
  // A fixed-point sum cannot hold an infinite contribution: the result is NaN.
  d_table[k] += largest[k] < kInfinity ? float(sum) : __uint_as_float(0x7FC00000U);
}

unsigned blocks_of(int64_t threads) { return unsigned((threads + kThreads - 1) / kThreads); }

template <int kDim, int kFeatures>
void scatter_level(const HashgridLevel& level, int64_t l, const HashgridBwd::Args<float>& x, Fixed* sums,
                   unsigned* largest) {
  const int64_t n = x.shape.n, values = level.entries * kFeatures;
  int count_bits = kDim;  // an entry has at most 2^kDim contributions of each point
  while (int64_t(1) << (count_bits - kDim) < n) ++count_bits;
  const float* d_features = x.d_features + l * kFeatures * n;
  const dim3 threads(kThreads), points(blocks_of(n));
  cuda::fill_zero(largest, size_t(values) * sizeof(unsigned));
  cuda::fill_zero(sums, size_t(values) * sizeof(Fixed));
  cuda::launch(find_largest<kDim, kFeatures>, points, threads, 0, level, n, x.positions, d_features, largest);
  cuda::launch(scatter<kDim, kFeatures>, points, threads, 0, level, n, count_bits, x.positions, d_features,
               largest, sums);
  cuda::launch(add_sums, dim3(blocks_of(values)), threads, 0, values, count_bits, largest, sums,
               x.d_table + level.offset * kFeatures);
}

void run(const HashgridBwd::Args<float>& x) {
  const HashgridShape& s = x.shape;
  if (s.n == 0) return;
  const auto levels = hashgrid_levels(s);
  int64_t most = 0;
  for (const HashgridLevel& level : levels) most = std::max(most, level.entries * s.features);
  cuda::Scratch scratch(size_t(most) * (sizeof(Fixed) + sizeof(unsigned)));
  auto* sums = scratch.as<Fixed>();
  hashgrid_dispatch(s, [&](auto dim, auto features) {
    for (int64_t l = 0; l < s.levels; ++l)
      scatter_level<dim(), features()>(levels[size_t(l)], l, x, sums,
                                       reinterpret_cast<unsigned*>(sums + most));
  });
}

KLAB_VARIANT(HashgridBwd, {.run = run,
                           .parent = "01_float_atomics",
                           .forward = "02_level_major",
                           .tiles = {kThreads},
                           .when = {{1 << 18, 3, 16, 2, 19, 16, 2048, 0},
                                    "the same bits in every run, whatever order atomics take"}});

}  // namespace
}  // namespace klab
