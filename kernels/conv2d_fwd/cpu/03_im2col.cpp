// conv2d_fwd.cpu.03_im2col: the windows written out as the columns of a matrix, then a matrix product.
//
// CHANGE    im2col: a matrix with a row for each tap of each channel and a column for each output, x copied to where it is
//           read, zeros where the window hangs over the edge. Then y = w·matrix is lab 05's product, with its panels and its
//           tile (kernels/common/sgemm_pack-inl.h, sgemm_tile-inl.h).
// EXPECT    a multiply-add loads (6 + 4)/24 vectors instead of two and a store: at least 3 times. The price is a matrix r·s
//           times as large as x that is written, read and packed.
// NUMERICS  float, fused multiply-add where the machine has it; chains of at most 384 additions on top of the bias.
// NEEDS     scratch memory for the matrix, c·r·s·oh·ow floats; both layouts.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/scratch.h"
#include "kernels/common/simd.h"
#include "reference/conv2d_fwd/conv2d_fwd.h"

#include "kernels/common/sgemm_pack-inl.h"
#include "kernels/common/sgemm_tile-inl.h"

KLAB_SIMD_BEGIN();

namespace sgemm = klab::sgemm::HWY_NAMESPACE;
using sgemm::kRows;
using sgemm::whole;

constexpr int64_t kBlockDepth = 384;
constexpr int64_t kBlockRows = 16 * kRows;
constexpr int64_t kBlockColumns = 4096;

/// Writes row (c,u,v) of the matrix: the pixel that this tap reads for each output of the picture.
void matrix_row(const Conv2dFwd::Args<float>& x, int64_t image, int64_t channel, int64_t u, int64_t v,
                float* to) {
  const Conv2dShape& s = x.shape;
  const int64_t across = s.nhwc != 0 ? s.in_channels() : 1, ow = s.ow();
  const int64_t left = v * s.dilation_x - s.pad_x;
  const int64_t begin = std::min(ow, left >= 0 ? 0 : (-left + s.stride_x - 1) / s.stride_x);
  const int64_t end = left >= s.w ? begin : std::clamp((s.w - 1 - left) / s.stride_x + 1, begin, ow);
  for (int64_t i = 0; i < s.oh(); ++i, to += ow) {
    const int64_t row = i * s.stride_y + u * s.dilation_y - s.pad_y;
    if (row < 0 || row >= s.h || begin == end) {
      std::fill_n(to, ow, 0.0F);
      continue;
    }
    const float* from = x.x + s.x_at(image, channel, row, begin * s.stride_x + left);
    const int64_t step = across * s.stride_x;
    std::fill_n(to, begin, 0.0F);
    if (step == 1)
      std::copy_n(from, end - begin, to + begin);
    else
      for (int64_t j = begin; j < end; ++j) to[j] = from[(j - begin) * step];
    std::fill_n(to + end, ow - end, 0.0F);
  }
}

#include "kernels/common/conv/03_im2col-inl.h"

void convolve(const Conv2dFwd::Args<float>& x) {
  static thread_local Scratch scratch;
  const Conv2dShape& s = x.shape;
  const int64_t outputs = s.oh() * s.ow(), depth = s.c * s.taps();
  float* matrix = scratch.floats(depth * outputs);
  for (int64_t image = 0; image < s.n; ++image)
    for (int64_t g = 0; g < s.groups && s.k > 0; ++g) {
      for (int64_t p = 0; p < depth; ++p)
        matrix_row(x, image, g * s.c + p / s.taps(), p % s.taps() / s.s, p % s.s, matrix + p * outputs);
      const float *w = x.w + g * s.k * depth, *b = x.b + g * s.k;
      float* y = x.y + s.y_at(image, g * s.k, 0, 0);
      if (s.nhwc != 0) {  // a pixel's channels lie together: y[outputs,k] = matrixᵀ·wᵀ
        const int64_t stride = s.out_channels();
        for (int64_t i = 0; i < outputs; ++i) std::copy_n(b, s.k, y + i * stride);
        add_product(outputs, s.k, depth, {matrix, outputs, true}, {w, depth, true}, y, stride);
      } else {
        for (int64_t k = 0; k < s.k; ++k) std::fill_n(y + k * outputs, outputs, b[k]);
        add_product(s.k, outputs, depth, {w, depth, false}, {matrix, outputs, false}, y, outputs);
      }
    }
}

KLAB_SIMD_ONCE(convolve);

#if HWY_ONCE
void run(const Conv2dFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(convolve)(x); }

// Tiles are 6 rows and, by machine, 8, 16, 32 or 64 columns.
KLAB_VARIANT(Conv2dFwd,
             {.run = run,
              .parent = "02_loop_order",
              .tiles = {6, 16, 64},
              .expect = {.shape = {1, 1, 64, 64, 56, 56, 3, 3, 1, 1, 1, 1, 1, 1, 0}, .over_parent = 3}});
KLAB_SIMD_CLOSE();
#endif
