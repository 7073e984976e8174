// conv2d_fwd.cpu.07_depthwise: where each channel is alone, there is nothing to share but the picture.
//
// CHANGE    for groups of one input and one output channel: a thread packs one channel, which then is in its L1 or L2, and goes
//           over it in strips of four vectors, whose sums are stored where they belong. No panel, no tile, no table of blocks.
// EXPECT    r·s multiply-adds for each float read and written, so the ceiling is a copy from the last-level cache. The parent
//           packs all channels before it uses the first, and calls a tile for each 64 outputs: at least 1.5 times.
// NUMERICS  float, fused multiply-add where the machine has it; one chain of r·s additions that begins with the bias.
// NEEDS     NCHW; c = k = 1.
#include <omp.h>

#include <algorithm>
#include <string>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/conv/rows.h"
#include "kernels/common/scratch.h"
#include "kernels/common/simd.h"
#include "reference/conv2d_fwd/conv2d_fwd.h"

KLAB_SIMD_BEGIN();

using conv::JoinedRows;

using Tag = hn::ScalableTag<float>;
constexpr int64_t kMaxLanes = int64_t(hn::MaxLanes(Tag()));

/// y[0 .. 4·lanes) = bias + Σ_p w[p]·x[shifts[p] + ...]
HWY_INLINE void strip(const std::vector<int64_t>& shifts, const float* HWY_RESTRICT w, float bias,
                      const float* HWY_RESTRICT x, float* HWY_RESTRICT y) {
  const Tag d;
  const int64_t n = int64_t(hn::Lanes(d));
  auto y_0 = hn::Set(d, bias), y_1 = y_0, y_2 = y_0, y_3 = y_0;
  for (size_t p = 0; p < shifts.size(); ++p) {
    const float* from = x + shifts[p];
    const auto w_p = hn::Set(d, w[p]);
    y_0 = hn::MulAdd(w_p, hn::LoadU(d, from), y_0);
    y_1 = hn::MulAdd(w_p, hn::LoadU(d, from + n), y_1);
    y_2 = hn::MulAdd(w_p, hn::LoadU(d, from + 2 * n), y_2);
    y_3 = hn::MulAdd(w_p, hn::LoadU(d, from + 3 * n), y_3);
  }
  hn::StoreU(y_0, d, y);
  hn::StoreU(y_1, d, y + n);
  hn::StoreU(y_2, d, y + 2 * n);
  hn::StoreU(y_3, d, y + 3 * n);
}

/// As strip(), one vector.
HWY_INLINE void short_strip(const std::vector<int64_t>& shifts, const float* HWY_RESTRICT w, float bias,
                            const float* HWY_RESTRICT x, float* HWY_RESTRICT y) {
  const Tag d;
  auto y_0 = hn::Set(d, bias);
  for (size_t p = 0; p < shifts.size(); ++p)
    y_0 = hn::MulAdd(hn::Set(d, w[p]), hn::LoadU(d, x + shifts[p]), y_0);
  hn::StoreU(y_0, d, y);
}

void channel(const JoinedRows& rows, const std::vector<int64_t>& shifts, const float* packed, const float* w,
             float bias, float* y) {
  const int64_t n = int64_t(hn::Lanes(Tag()));
  HWY_ALIGN float last[kMaxLanes];
  for (int64_t i = 0; i < rows.oh; ++i) {
    const float* x = packed + i * rows.pitch;
    float* to = y + i * rows.ow;
    int64_t j = 0;
    for (; j + 4 * n <= rows.ow; j += 4 * n) strip(shifts, w, bias, x + j, to + j);
    for (; j + n <= rows.ow; j += n) short_strip(shifts, w, bias, x + j, to + j);
    if (j == rows.ow) continue;
    short_strip(shifts, w, bias, x + j, last);
    std::copy_n(last, rows.ow - j, to + j);
  }
}

/// As many threads as there are portions of work that take several times as long as waking one.
int choose_threads(const Conv2dShape& s) {
  constexpr double portion = 5e5;  // operations: some microseconds
  return std::max(1, int(std::min(2 * s.products() / portion, double(omp_get_max_threads()))));
}

void convolve(const Conv2dFwd::Args<float>& x) {
  const Conv2dShape& s = x.shape;
  const JoinedRows rows(s);
  const std::vector<int64_t> shifts = conv::shifts_of(s, rows, rows.channel);
#pragma omp parallel for schedule(static) num_threads(choose_threads(s))
  for (int64_t i = 0; i < s.n * s.groups; ++i) {
    static thread_local Scratch picture;
    float* packed = picture.floats(rows.channel + kMaxLanes);
    rows.pack(x.x + i * s.h * s.w, packed);
    std::fill_n(packed + rows.channel, kMaxLanes, 0.0F);
    const int64_t g = i % s.groups;
    channel(rows, shifts, packed, x.w + g * s.taps(), x.b[g], x.y + i * rows.oh * rows.ow);
  }
}

KLAB_SIMD_ONCE(convolve);

#if HWY_ONCE
void run(const Conv2dFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(convolve)(x); }

std::string supported(const Conv2dShape& s, const Host&) {
  if (s.nhwc != 0) return "its vectors run along rows of one channel: NCHW only";
  return s.c == 1 && s.k == 1 ? "" : "for groups of one channel: c = k = 1";
}

KLAB_VARIANT(Conv2dFwd,
             {.run = run,
              .parent = "06_threads",
              .tiles = {16, 64},
              .expect = {.shape = {1, 64, 1, 1, 112, 112, 3, 3, 1, 1, 1, 1, 1, 1, 0}, .over_parent = 1.5},
              .when = {{1, 64, 1, 1, 112, 112, 3, 3, 1, 1, 1, 1, 1, 1, 0},
                       "a channel for itself: bandwidth, not arithmetic"},
              .supported = supported});
KLAB_SIMD_CLOSE();
#endif
