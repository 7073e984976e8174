// hashtable_bwd.cuda.02_vector_reds: the features of an entry by one red.
//
// CHANGE    a point's gradients of a level are loaded once, and each corner adds all features of its entry by red.global.add of
//           8 or 16 bytes, as hashgrid_bwd.cuda.06_vector_reds. A point without a gradient on a level ends before it hashes.
// EXPECT    half as many requests at two features, 33.5 million sectors in place of 67 million at 2^18 points, and an eighth of
//           the loads of gradients: at least 1.5 times the parent, nothing if L2 counts floats.
// NUMERICS  as the parent.
// NEEDS     compute capability 9.0 for the wide reds; older GPUs get single ones.
// SASS      REDG.F32x2 REDG.F32x4; no ATOM ATOMG LDL STL
#include <algorithm>
#include <type_traits>

#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/cuda_red.h"
#include "kernels/common/hashgrid/table_device.h"
#include "reference/hashtable_bwd/hashtable_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 128;

#include "kernels/common/hashgrid/06_vector_reds-inl.h"

template <int kFeatures>
__global__ void __launch_bounds__(kThreads)
    scatter(HashtableShape s, const float* __restrict__ positions, const float* __restrict__ scales,
            const int64_t* __restrict__ sizes, const float* __restrict__ d_features,
            float* __restrict__ d_table, bool whole) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= s.n) return;
  const int l = int(blockIdx.y), hash = int(s.hash), blend = int(s.blend);
  float gradient[kFeatures];
  bool any = false;
#pragma unroll
  for (int f = 0; f < kFeatures; ++f) {
    gradient[f] = d_features[(int64_t(l) * kFeatures + f) * s.n + i];
    any = any || gradient[f] != 0;
  }
  if (!any) return;
  const int corners = blend == table_blend::nearest ? 1 : 8;
  const TableDeviceLevel level = table_device_level(scales, sizes, l);
  const TableDeviceCell cell = table_device_cell(positions, s.n, i, level.scale, blend);
  for (int c = 0; c < corners; ++c) {
    float weight;
    const uint32_t index = table_device_corner(level, cell, hash, c, weight);
    float sum[kFeatures];
#pragma unroll
    for (int f = 0; f < kFeatures; ++f) sum[f] = weight * gradient[f];
    add_entry<kFeatures>(d_table + (level.offset + index) * kFeatures, whole, sum);
  }
}

void run(const HashtableBwd::Args<float>& x) {
  if (x.shape.n == 0) return;
  const auto blocks = unsigned((x.shape.n + kThreads - 1) / kThreads);
  const bool whole = cuda::aligned(x.d_table, sizeof(float) * std::min<size_t>(size_t(x.shape.features), 4));
  const auto launch = [&](auto features) {
    cuda::launch(scatter<features()>, dim3(blocks, unsigned(x.shape.levels)), dim3(kThreads), 0, x.shape,
                 x.positions, x.scales, x.sizes, x.d_features, x.d_table, whole);
  };
  if (x.shape.features == 1) launch(std::integral_constant<int, 1>());
  if (x.shape.features == 2) launch(std::integral_constant<int, 2>());
  if (x.shape.features == 4) launch(std::integral_constant<int, 4>());
  if (x.shape.features == 8) launch(std::integral_constant<int, 8>());
}

KLAB_VARIANT(HashtableBwd, {.run = run,
                            .parent = "01_float_atomics",
                            .numerics = {.deterministic = false},
                            .tiles = {kThreads},
                            .expect = {.shape = {1 << 18, 16, 2, 1 << 22, 0, 0, 1}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
