// conv2d_bwd.cpu.03_im2col: both gradients as matrix products, and im2col's adjoint.
//
// CHANGE    with the forward's matrix M of windows, y = w·M. So d_w = d_y·Mᵀ, and d_M = wᵀ·d_y is the
//           gradient of the windows; col2im, the adjoint of im2col, adds each element of d_M to the pixel
//           that it was a copy of. Lab 05's product does both.
// EXPECT    (6 + 4)/24 loads for a multiply-add in place of two and a store: at least 3 times. The matrix,
//           r·s times as large as x, is written and read twice.
// NUMERICS  float, fused multiply-add where the machine has it; chains of at most 384 additions, then one for
//           each block, image and tap.
// NEEDS     scratch memory for the matrix, c·r·s·oh·ow floats; both layouts.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/scratch.h"
#include "kernels/common/simd.h"
#include "reference/conv2d_bwd/conv2d_bwd.h"

#include "kernels/common/sgemm_pack-inl.h"
#include "kernels/common/sgemm_tile-inl.h"

KLAB_SIMD_BEGIN();

namespace sgemm = klab::sgemm::HWY_NAMESPACE;
using sgemm::kRows;
using sgemm::whole;

constexpr int64_t kBlockDepth = 384;
constexpr int64_t kBlockRows = 16 * kRows;
constexpr int64_t kBlockColumns = 4096;

/// visit(i, begin, end, x) for each row of outputs that tap (u,v) meets inside the image: outputs [begin, end) of row i, of
/// which the first reads x.x[x]; none where it meets nothing.
void each_row(const Conv2dShape& s, int64_t image, int64_t channel, int64_t u, int64_t v, auto&& visit) {
  const int64_t ow = s.ow(), left = v * s.dilation_x - s.pad_x;
  const int64_t begin = std::min(ow, left >= 0 ? 0 : (-left + s.stride_x - 1) / s.stride_x);
  const int64_t end = left >= s.w ? begin : std::clamp((s.w - 1 - left) / s.stride_x + 1, begin, ow);
  for (int64_t i = 0; i < s.oh(); ++i) {
    const int64_t row = i * s.stride_y + u * s.dilation_y - s.pad_y;
    if (row < 0 || row >= s.h || begin == end)
      visit(i, ow, ow, int64_t(0));
    else
      visit(i, begin, end, s.x_at(image, channel, row, begin * s.stride_x + left));
  }
}

/// Writes row (c,u,v) of the matrix: the pixel that this tap reads for each output of the picture.
void matrix_row(const Conv2dShape& s, const float* x, int64_t image, int64_t channel, int64_t u, int64_t v,
                float* to) {
  const int64_t step = (s.nhwc != 0 ? s.in_channels() : 1) * s.stride_x, ow = s.ow();
  each_row(s, image, channel, u, v, [&](int64_t i, int64_t begin, int64_t end, int64_t at) {
    float* row = to + i * ow;
    std::fill_n(row, begin, 0.0F);
    for (int64_t j = begin; j < end; ++j) row[j] = x[at + (j - begin) * step];
    std::fill_n(row + end, ow - end, 0.0F);
  });
}

/// The adjoint: adds the row to the pixels that it was copied from.
void add_matrix_row(const Conv2dShape& s, const float* from, int64_t image, int64_t channel, int64_t u,
                    int64_t v, float* d_x) {
  const int64_t step = (s.nhwc != 0 ? s.in_channels() : 1) * s.stride_x, ow = s.ow();
  each_row(s, image, channel, u, v, [&](int64_t i, int64_t begin, int64_t end, int64_t at) {
    const float* row = from + i * ow;
    if (step == 1)
      for (int64_t j = begin; j < end; ++j) d_x[at + j - begin] += row[j];
    else
      for (int64_t j = begin; j < end; ++j) d_x[at + (j - begin) * step] += row[j];
  });
}

#include "kernels/common/conv/03_im2col-inl.h"

/// Gradients of one group of one image; d_w and d_b are added to.
void group(const Conv2dBwd::Args<float>& x, int64_t image, int64_t g, float* matrix) {
  const Conv2dShape& s = x.shape;
  const int64_t outputs = s.oh() * s.ow(), depth = s.c * s.taps();
  const float *w = x.w + g * s.k * depth, *d_y = x.d_y + s.y_at(image, g * s.k, 0, 0);
  const bool last = s.nhwc != 0;  // d_y is [outputs,k] there, [k,outputs] elsewhere
  const int64_t stride = last ? s.out_channels() : outputs;
  const auto each = [&](auto&& visit) {
    for (int64_t p = 0; p < depth; ++p)
      visit(g * s.c + p / s.taps(), p % s.taps() / s.s, p % s.s, matrix + p * outputs);
  };
  each([&](int64_t c, int64_t u, int64_t v, float* row) { matrix_row(s, x.x, image, c, u, v, row); });
  add_product(s.k, depth, outputs, {d_y, stride, last}, {matrix, outputs, true}, x.d_w + g * s.k * depth,
              depth);
  std::fill_n(matrix, depth * outputs, 0.0F);
  add_product(depth, outputs, s.k, {w, depth, true}, {d_y, stride, last}, matrix, outputs);
  each([&](int64_t c, int64_t u, int64_t v, const float* row) {
    add_matrix_row(s, row, image, c, u, v, x.d_x);
  });
  for (int64_t k = 0; k < s.k; ++k) {
    float sum = 0;
    for (int64_t i = 0; i < outputs; ++i) sum += last ? d_y[i * stride + k] : d_y[k * stride + i];
    x.d_b[g * s.k + k] += sum;
  }
}

void gradients(const Conv2dBwd::Args<float>& x) {
  static thread_local Scratch scratch;
  const Conv2dShape& s = x.shape;
  std::fill_n(x.d_x, volume(s.x_dims()), 0.0F);
  std::fill_n(x.d_w, volume(s.w_dims()), 0.0F);
  std::fill_n(x.d_b, s.out_channels(), 0.0F);
  float* matrix = scratch.floats(s.c * s.taps() * s.oh() * s.ow());
  for (int64_t image = 0; image < s.n; ++image)
    for (int64_t g = 0; g < s.groups && s.k > 0; ++g) group(x, image, g, matrix);
}

KLAB_SIMD_ONCE(gradients);

#if HWY_ONCE
void run(const Conv2dBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(gradients)(x); }

// Tiles are 6 rows and, by machine, 8, 16, 32 or 64 columns.
KLAB_VARIANT(Conv2dBwd,
             {.run = run,
              .parent = "02_loop_order",
              .tiles = {6, 16, 64},
              .expect = {.shape = {1, 1, 64, 64, 56, 56, 3, 3, 1, 1, 1, 1, 1, 1, 0}, .over_parent = 3}});
KLAB_SIMD_CLOSE();
#endif
