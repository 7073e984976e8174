// conv2d_fwd.cpu.04_register_tile: the matrix is not written; the tile reads the picture, shifted.
//
// CHANGE    a row of the parent's matrix is the picture itself, from another place on. x is copied once, with its padding and
//           sorted by the stride's remainders (kernels/common/conv/rows.h), and the tile gets a table of shifts in place of a
//           packed panel (kernels/common/conv/tile-inl.h). Weights are packed in the order in which the tile wants them.
// EXPECT    the same loads for each multiply-add, from a copy r·s times smaller that stays in L2: at least 1.15 times, although
//           a row of 56 fills seven eighths of its vectors.
// NUMERICS  float, fused multiply-add where the machine has it; one chain of c·r·s additions that begins with the bias.
// NEEDS     NCHW; scratch memory for a padded image and the weights.
#include <algorithm>
#include <string>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/conv/rows.h"
#include "kernels/common/scratch.h"
#include "kernels/common/simd.h"
#include "reference/conv2d_fwd/conv2d_fwd.h"

#include "kernels/common/conv/tile-inl.h"
#include "kernels/common/sgemm_pack-inl.h"

KLAB_SIMD_BEGIN();

namespace tiles = klab::conv::HWY_NAMESPACE;
namespace sgemm = klab::sgemm::HWY_NAMESPACE;
using conv::JoinedRows;
using tiles::kRows;

/// One group of one image: `packed` holds its input, `weights` panels of kRows output channels.
void group(const Conv2dFwd::Args<float>& x, const JoinedRows& rows, const std::vector<int64_t>& shifts,
           const float* packed, const float* weights, const float* bias, float* y) {
  const Conv2dShape& s = x.shape;
  const auto depth = int64_t(shifts.size());
  const int64_t most = tiles::kVectors * tiles::lanes();
  HWY_ALIGN float out[kRows * tiles::kMaxColumns];
  for (int64_t i = 0; i < rows.oh; ++i)
    for (int64_t j = 0; j < rows.ow; j += most) {
      const int64_t count = std::min(most, rows.ow - j), wide = (count + tiles::lanes() - 1) / tiles::lanes();
      for (int64_t k = 0; k < s.k; k += kRows) {
        tiles::tile(kRows, wide, depth, weights + k * depth, shifts.data(), packed + i * rows.pitch + j,
                    bias + k, out);
        for (int64_t r = 0; r < std::min(kRows, s.k - k); ++r)
          std::copy_n(out + r * tiles::kMaxColumns, count, y + ((k + r) * rows.oh + i) * rows.ow + j);
      }
    }
}

void convolve(const Conv2dFwd::Args<float>& x) {
  static thread_local Scratch picture, panels, biases;
  const Conv2dShape& s = x.shape;
  const JoinedRows rows(s);
  const std::vector<int64_t> shifts = conv::shifts_of(s, rows, rows.channel);
  const auto depth = int64_t(shifts.size());
  const int64_t padded_k = sgemm::whole(s.k, kRows), beyond = tiles::kMaxColumns;
  float* packed = picture.floats(s.c * rows.channel + beyond);
  std::fill_n(packed + s.c * rows.channel, beyond, 0.0F);
  float* weights = panels.floats(padded_k * depth);
  float* bias = biases.floats(padded_k);
  for (int64_t g = 0; g < s.groups; ++g) {
    sgemm::transpose_panels(x.w + g * s.k * depth, depth, s.k, depth, kRows, weights);
    std::fill(std::copy_n(x.b + g * s.k, s.k, bias), bias + padded_k, 0.0F);
    for (int64_t image = 0; image < s.n; ++image) {
      for (int64_t c = 0; c < s.c; ++c)
        rows.pack(x.x + s.x_at(image, g * s.c + c, 0, 0), packed + c * rows.channel);
      group(x, rows, shifts, packed, weights, bias, x.y + s.y_at(image, g * s.k, 0, 0));
    }
  }
}

KLAB_SIMD_ONCE(convolve);

#if HWY_ONCE
void run(const Conv2dFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(convolve)(x); }

std::string supported(const Conv2dShape& s, const Host&) {
  return s.nhwc == 0 ? "" : "its vectors run along rows of one channel: NCHW only";
}

// Tiles are 6 channels and, by machine, 8, 16, 32 or 64 pixels.
KLAB_VARIANT(Conv2dFwd,
             {.run = run,
              .parent = "03_im2col",
              .tiles = {6, 16, 64},
              .expect = {.shape = {1, 1, 64, 64, 56, 56, 3, 3, 1, 1, 1, 1, 1, 1, 0}, .over_parent = 1.15},
              .supported = supported});
KLAB_SIMD_CLOSE();
#endif
