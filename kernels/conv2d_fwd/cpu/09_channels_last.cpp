// conv2d_fwd.cpu.09_channels_last: with NHWC the vector runs over output channels.
//
// CHANGE    the tile turned: lanes are output channels, whose weights are packed side by side, and six pixels of a row are
//           broadcast. A pixel's channels lie together, so the innermost loop walks along them with nothing but a counter, and
//           a stride is a distance between pixels. Padding is a copy with a border, row by row.
// EXPECT    rungs 04 to 06 take no NHWC, and 03 writes a matrix whose rows it collects with steps of a pixel: at least 4 times
//           that on two cores.
// NUMERICS  float, fused multiply-add where the machine has it; one chain of c·r·s additions that begins with the bias.
// NEEDS     NHWC; scratch memory for padded images and the weights. Few output channels leave lanes empty.
#include <omp.h>

#include <algorithm>
#include <string>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/scratch.h"
#include "kernels/common/simd.h"
#include "reference/conv2d_fwd/conv2d_fwd.h"

#include "kernels/common/sgemm_pack-inl.h"
#include "kernels/common/sgemm_tile-inl.h"

KLAB_SIMD_BEGIN();

namespace sgemm = klab::sgemm::HWY_NAMESPACE;
using sgemm::kRows;
using sgemm::kVectors;
using Tag = hn::ScalableTag<float>;

int64_t lanes() { return int64_t(hn::Lanes(Tag())); }

// The accumulators have names, not indices, as in kernels/common/sgemm_tile-inl.h.
#define KLAB_LAST_ROWS(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5)
#define KLAB_LAST_BEGIN(i)                                                                       \
  [[maybe_unused]] auto c##i##_0 = hn::LoadU(d, bias), c##i##_1 = c##i##_0, c##i##_2 = c##i##_0, \
                        c##i##_3 = c##i##_0;                                                     \
  if constexpr (kWide > 1) c##i##_1 = hn::LoadU(d, bias + n);                                    \
  if constexpr (kWide > 2) c##i##_2 = hn::LoadU(d, bias + 2 * n);                                \
  if constexpr (kWide > 3) c##i##_3 = hn::LoadU(d, bias + 3 * n);
#define KLAB_LAST_STEP(i)                                               \
  if constexpr (i < kHeight) {                                          \
    const auto x_i = hn::Set(d, from[i * step]);                        \
    c##i##_0 = hn::MulAdd(x_i, w_0, c##i##_0);                          \
    if constexpr (kWide > 1) c##i##_1 = hn::MulAdd(x_i, w_1, c##i##_1); \
    if constexpr (kWide > 2) c##i##_2 = hn::MulAdd(x_i, w_2, c##i##_2); \
    if constexpr (kWide > 3) c##i##_3 = hn::MulAdd(x_i, w_3, c##i##_3); \
  }
#define KLAB_LAST_STORE(i)                                         \
  if constexpr (i < kHeight) {                                     \
    float* row = out + i * stride;                                 \
    hn::StoreU(c##i##_0, d, row);                                  \
    if constexpr (kWide > 1) hn::StoreU(c##i##_1, d, row + n);     \
    if constexpr (kWide > 2) hn::StoreU(c##i##_2, d, row + 2 * n); \
    if constexpr (kWide > 3) hn::StoreU(c##i##_3, d, row + 3 * n); \
  }

/// out[kHeight pixels, kWide·lanes()], pixels `stride` floats apart. x: pixels `step` floats apart; a tap reads `channels`
/// floats from its shift on; w [taps·channels, kWide·lanes()] packed.
template <int64_t kHeight, int64_t kWide>
void pixels(const std::vector<int64_t>& shifts, int64_t channels, const float* HWY_RESTRICT x, int64_t step,
            const float* HWY_RESTRICT w, const float* HWY_RESTRICT bias, float* HWY_RESTRICT out,
            int64_t stride) {
  const Tag d;
  const int64_t n = lanes();
  KLAB_LAST_ROWS(KLAB_LAST_BEGIN)
  for (const int64_t shift : shifts) {
    const float* from = x + shift;
    for (int64_t c = 0; c < channels; ++c, ++from, w += kWide * n) {
      const auto w_0 = hn::LoadU(d, w);
      [[maybe_unused]] auto w_1 = w_0, w_2 = w_0, w_3 = w_0;
      if constexpr (kWide > 1) w_1 = hn::LoadU(d, w + n);
      if constexpr (kWide > 2) w_2 = hn::LoadU(d, w + 2 * n);
      if constexpr (kWide > 3) w_3 = hn::LoadU(d, w + 3 * n);
      KLAB_LAST_ROWS(KLAB_LAST_STEP)
    }
  }
  KLAB_LAST_ROWS(KLAB_LAST_STORE)
}

#undef KLAB_LAST_ROWS
#undef KLAB_LAST_BEGIN
#undef KLAB_LAST_STEP
#undef KLAB_LAST_STORE

/// Where things of one layer lie.
struct Layer {
  Conv2dShape s;
  int64_t wide, width, panels;  // vectors and channels of a panel of weights, panels of a group
  int64_t row, image;           // floats of a padded row and image
  std::vector<int64_t> shifts;  // of the taps

  explicit Layer(const Conv2dShape& shape) : s(shape) {
    wide = std::clamp<int64_t>((s.k + lanes() - 1) / lanes(), 1, kVectors);
    width = wide * lanes();
    panels = (s.k + width - 1) / width;
    row = (s.w + 2 * s.pad_x) * s.in_channels();
    image = (s.h + 2 * s.pad_y) * row;
    for (int64_t u = 0; u < s.r; ++u)
      for (int64_t v = 0; v < s.s; ++v)
        shifts.push_back(u * s.dilation_y * row + v * s.dilation_x * s.in_channels());
  }
  bool padded() const { return s.pad_y + s.pad_x > 0; }
  int64_t depth() const { return s.taps() * s.c; }
};

/// w[k,c,taps] of one panel's channels -> [taps,c,width], zeros beyond the last channel.
void pack_panel(const Layer& l, const float* w, int64_t used, float* to) {
  for (int64_t tap = 0; tap < l.s.taps(); ++tap)
    for (int64_t c = 0; c < l.s.c; ++c, to += l.width)
      for (int64_t k = 0; k < l.width; ++k) to[k] = k < used ? w[k * l.depth() + c * l.s.taps() + tap] : 0.0F;
}

/// One padded row of an image.
void pad_row(const Layer& l, const float* x, int64_t row, float* to) {
  const int64_t border = l.s.pad_x * l.s.in_channels(), inside = l.s.w * l.s.in_channels(),
                from = row - l.s.pad_y;
  if (from < 0 || from >= l.s.h) {
    std::fill_n(to, l.row, 0.0F);
    return;
  }
  std::fill_n(to, border, 0.0F);
  std::copy_n(x + from * inside, inside, to + border);
  std::fill_n(to + border + inside, border, 0.0F);
}

/// Pixels of one row of y, kHeight at a time, for one panel; `used` of its channels are kept.
template <int64_t kHeight, int64_t kWide>
void row_part(const Layer& l, int64_t begin, int64_t end, const float* x, const float* w, const float* bias,
              int64_t used, float* y) {
  HWY_ALIGN float whole[kRows * sgemm::kMaxColumns];
  const int64_t step = l.s.stride_x * l.s.in_channels(), stride = l.s.out_channels();
  for (int64_t j = begin; j < end; j += kHeight) {
    if (used == l.width) {
      pixels<kHeight, kWide>(l.shifts, l.s.c, x + j * step, step, w, bias, y + j * stride, stride);
      continue;
    }
    pixels<kHeight, kWide>(l.shifts, l.s.c, x + j * step, step, w, bias, whole, l.width);
    for (int64_t i = 0; i < kHeight; ++i) std::copy_n(whole + i * l.width, used, y + (j + i) * stride);
  }
}

template <int64_t kWide>
void row_of_width(const Layer& l, const float* x, const float* w, const float* bias, int64_t used, float* y) {
  const int64_t ow = l.s.ow(), sixes = ow / kRows * kRows;
  row_part<kRows, kWide>(l, 0, sixes, x, w, bias, used, y);
  switch (ow - sixes) {
    case 1:
      return row_part<1, kWide>(l, sixes, ow, x, w, bias, used, y);
    case 2:
      return row_part<2, kWide>(l, sixes, ow, x, w, bias, used, y);
    case 3:
      return row_part<3, kWide>(l, sixes, ow, x, w, bias, used, y);
    case 4:
      return row_part<4, kWide>(l, sixes, ow, x, w, bias, used, y);
    case 5:
      return row_part<5, kWide>(l, sixes, ow, x, w, bias, used, y);
    default:
      return;
  }
}

void row(const Layer& l, const float* x, const float* w, const float* bias, int64_t used, float* y) {
  if constexpr (kVectors > 3)
    if (l.wide == 4) return row_of_width<4>(l, x, w, bias, used, y);
  if constexpr (kVectors > 2)
    if (l.wide == 3) return row_of_width<3>(l, x, w, bias, used, y);
  if (l.wide == 2) return row_of_width<2>(l, x, w, bias, used, y);
  row_of_width<1>(l, x, w, bias, used, y);
}

void convolve(const Conv2dFwd::Args<float>& x) {
  static thread_local Scratch picture, packed, biases;
  const Layer l(x.shape);
  const Conv2dShape& s = l.s;
  const int64_t all = s.groups * l.panels, panel = l.depth() * l.width;
  float* pictures = picture.floats(l.padded() ? s.n * l.image : 0);
  float* weights = packed.floats(all * panel);
  float* bias = biases.floats(all * l.width);
  const int threads = int(std::min(2 * s.products() / 5e5 + 1, double(omp_get_max_threads())));
#pragma omp parallel num_threads(threads)
  {
#pragma omp for schedule(static) nowait
    for (int64_t i = 0; i < all; ++i) {
      const int64_t g = i / l.panels, k = i % l.panels * l.width, used = std::min(l.width, s.k - k);
      pack_panel(l, x.w + (g * s.k + k) * l.depth(), used, weights + i * panel);
      std::fill(std::copy_n(x.b + g * s.k + k, used, bias + i * l.width), bias + (i + 1) * l.width, 0.0F);
    }
    const int64_t rows = s.h + 2 * s.pad_y;
#pragma omp for schedule(static)
    for (int64_t i = 0; i < (l.padded() ? s.n * rows : 0); ++i)
      pad_row(l, x.x + s.x_at(i / rows, 0, 0, 0), i % rows, pictures + i * l.row);
    const float* from = l.padded() ? pictures : x.x;
#pragma omp for schedule(static)
    for (int64_t i = 0; i < s.n * s.oh(); ++i)
      for (int64_t p = 0; p < all; ++p) {
        const int64_t g = p / l.panels, k = p % l.panels * l.width, image = i / s.oh(), line = i % s.oh();
        row(l, from + image * l.image + line * s.stride_y * l.row + g * s.c, weights + p * panel,
            bias + p * l.width, std::min(l.width, s.k - k), x.y + s.y_at(image, g * s.k + k, line, 0));
      }
  }
}

KLAB_SIMD_ONCE(convolve);

#if HWY_ONCE
void run(const Conv2dFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(convolve)(x); }

std::string supported(const Conv2dShape& s, const Host&) {
  return s.nhwc == 1 ? "" : "its vectors run over the channels of a pixel: NHWC only";
}

// Tiles are 6 pixels and, by machine, 8, 16, 32 or 64 channels.
KLAB_VARIANT(Conv2dFwd,
             {.run = run,
              .parent = "03_im2col",
              .tiles = {6, 16, 64},
              .expect = {.shape = {1, 1, 64, 64, 56, 56, 3, 3, 1, 1, 1, 1, 1, 1, 1}, .over_parent = 4},
              .when = {{1, 1, 64, 64, 56, 56, 3, 3, 1, 1, 1, 1, 1, 1, 1},
                       "NHWC: the channels of a pixel lie together"},
              .supported = supported});
KLAB_SIMD_CLOSE();
#endif
