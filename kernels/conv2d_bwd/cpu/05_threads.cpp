// conv2d_bwd.cpu.05_threads: panels shared out.
//
// CHANGE    packing by channels, d_x by panels of input channels, d_w by panels of output channels: each element is written by
//           one thread. One wait, after packing.
// EXPECT    nearly as many times faster as there are cores at 56x56 (at least 1.7 on two).
// NUMERICS  as the parent: the same bits with any number of threads.
// NEEDS     as the parent, and OpenMP.
#include <omp.h>

#include <algorithm>
#include <string>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/conv/phases.h"
#include "kernels/common/pad/layers.h"
#include "kernels/common/scratch.h"
#include "kernels/common/simd.h"
#include "reference/conv2d_bwd/conv2d_bwd.h"

#include "kernels/common/conv/dot-inl.h"
#include "kernels/common/conv/tile-inl.h"

KLAB_SIMD_BEGIN();

namespace tiles = klab::conv::HWY_NAMESPACE;
using Layer = conv::BackwardLayer;
using conv::Phase;
using conv::Pieces;
using tiles::kMaxColumns;
using tiles::kRows;
static_assert(kMaxColumns <= conv::kBeyondRow);
using Args = Conv2dBwd::Args<float>;

#include "kernels/conv2d_bwd/cpu/04_flipped_kernel-inl.h"

/// As many threads as there are portions of work that take several times as long as waking one.
int choose_threads(const Conv2dShape& s) {
  constexpr double portion = 5e5;  // operations: some microseconds
  return std::max(1, int(std::min(4 * s.products() / portion, double(omp_get_max_threads()))));
}

void gradients(const Args& x) {
  static thread_local Scratch pictures, upstream;
  const Conv2dShape& s = x.shape;
  const Layer l(s);
  const auto phases = int64_t(l.phases.size());
  const int64_t x_image = s.in_channels() * l.rows.channel, d_y_image = s.out_channels() * l.d_y_channel;
  const int64_t c_panels = (s.c + kRows - 1) / kRows, k_panels = (s.k + kRows - 1) / kRows;
  float* packed_x = pictures.floats(s.n * x_image + kMaxColumns);
  float* packed_d_y = upstream.floats(s.n * d_y_image + kMaxColumns);
  std::fill_n(packed_x + s.n * x_image, kMaxColumns, 0.0F);
  std::fill_n(packed_d_y + s.n * d_y_image, kMaxColumns, 0.0F);
#pragma omp parallel num_threads(choose_threads(s))
  {
#pragma omp for schedule(static) nowait
    for (int64_t i = 0; i < s.n * s.in_channels(); ++i)
      l.rows.pack(x.x + i * s.h * s.w, packed_x + i * l.rows.channel);
#pragma omp for schedule(static)
    for (int64_t i = 0; i < s.n * s.out_channels(); ++i)
      l.pack_d_y(x.d_y + i * l.rows.oh * l.rows.ow, packed_d_y + i * l.d_y_channel);
#pragma omp for schedule(static) nowait
    for (int64_t i = 0; i < s.n * s.groups * c_panels * phases; ++i) {
      const int64_t c = i / phases % c_panels * kRows, g = i / phases / c_panels % s.groups,
                    image = i / phases / c_panels / s.groups;
      input_part(l, l.phases[size_t(i % phases)], packed_d_y + image * d_y_image + g * s.k * l.d_y_channel,
                 x.w + g * s.k * s.c * s.taps(), c, std::min(kRows, s.c - c),
                 x.d_x + s.x_at(image, g * s.c, 0, 0));
    }
#pragma omp for schedule(static)
    for (int64_t i = 0; i < s.groups * k_panels; ++i) {
      const int64_t g = i / k_panels, k = i % k_panels * kRows, to = g * s.k + k;
      weight_part(l, std::min(kRows, s.k - k), packed_x + g * s.c * l.rows.channel, x_image,
                  packed_d_y + to * l.d_y_channel, d_y_image, x.d_w + to * s.c * s.taps(), x.d_b + to);
    }
  }
}

KLAB_SIMD_ONCE(gradients);

#if HWY_ONCE
void run(const Conv2dBwd::Args<float>& x) {
  if (x.shape.border != 0) return pad::backward(x, x.shape.in_channels(), run);
  HWY_DYNAMIC_DISPATCH(gradients)(x);
}

std::string supported(const Conv2dShape& s, const Host&) {
  return s.nhwc == 0 ? "" : "its vectors run along rows of one channel: NCHW only";
}

// Tiles are up to 6 channels and, by machine, 8, 16, 32 or 64 pixels; blocks of 512.
KLAB_VARIANT(Conv2dBwd,
             {.run = run,
              .parent = "04_flipped_kernel",
              .tiles = {6, 16, 64},
              .needs = {"border"},
              .expect = {.shape = {1, 1, 64, 64, 56, 56, 3, 3, 1, 1, 1, 1, 1, 1, 0}, .over_parent = 1.7},
              .supported = supported});
KLAB_SIMD_CLOSE();
#endif
