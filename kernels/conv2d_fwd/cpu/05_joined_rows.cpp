// conv2d_fwd.cpu.05_joined_rows: a picture is one long row.
//
// CHANGE    tiles no longer end with a row of the picture: they run along the joined rows, and what falls between two rows is
//           computed and thrown away. Heights and widths of tiles are evened out, so that no last tile is nearly empty, and
//           panels of weights are taken in blocks that stay in L2.
// EXPECT    of a row of 57 one output is thrown away; the parent filled 64 lanes for 56. At least 1.08 times at 56x56, more at
//           small pictures, where the parent's vectors are mostly empty.
// NUMERICS  as the parent.
// NEEDS     as the parent.
// TRIED     see NOTES.md, cpu.05_joined_rows
#include <algorithm>
#include <string>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/conv_rows.h"
#include "kernels/common/scratch.h"
#include "reference/conv2d_fwd/conv2d_fwd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv2d_fwd/cpu/05_joined_rows.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "kernels/common/conv_tile-inl.h"
#include "kernels/common/sgemm_pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace tiles = klab::conv::HWY_NAMESPACE;
namespace sgemm = klab::sgemm::HWY_NAMESPACE;
using conv::JoinedRows;
using conv::Pieces;
using tiles::kRows;

constexpr int64_t kBlockWeights = 48 * 1024;  // floats, 192 KB: a fifth or so of L2

/// A group's weights: panels of all their taps, one after the other, as even in height as can be.
struct Weights {
  Pieces panels;
  int64_t depth;
  const float* packed;

  void pack(const float* from, float* to) const {
    for (int64_t p = 0; p < panels.count; ++p) {
      const int64_t k = panels.begin(p), height = panels.begin(p + 1) - k;
      sgemm::transpose_panels(from + k * depth, depth, height, depth, height, to + k * depth);
    }
  }
};

/// Outputs [t, t + wide·lanes) of channels of the panels [first, last).
void tile_column(const Weights& weights, int64_t first, int64_t last, const JoinedRows& rows,
                 const int64_t* shifts, const float* packed, int64_t t, int64_t count, const float* bias,
                 float* y) {
  HWY_ALIGN float out[kRows * tiles::kMaxColumns];
  const int64_t wide = (count + tiles::lanes() - 1) / tiles::lanes(), plane = rows.oh * rows.ow;
  for (int64_t p = first; p < last; ++p) {
    const int64_t k = weights.panels.begin(p), height = weights.panels.begin(p + 1) - k;
    tiles::tile(height, wide, weights.depth, weights.packed + k * weights.depth, shifts, packed + t, bias + k,
                out);
    for (int64_t r = 0; r < height; ++r)
      rows.each_piece(t, count, [&](int64_t from, int64_t to, int64_t length) {
        std::copy_n(out + r * tiles::kMaxColumns + from, length, y + (k + r) * plane + to);
      });
  }
}

void convolve(const Conv2dFwd::Args<float>& x) {
  static thread_local Scratch picture, panels;
  const Conv2dShape& s = x.shape;
  if (s.n * s.k == 0) return;
  const JoinedRows rows(s);
  const std::vector<int64_t> shifts = conv::shifts_of(s, rows, rows.channel);
  const auto depth = int64_t(shifts.size());
  const int64_t beyond = tiles::kMaxColumns;
  float* packed = picture.floats(s.c * rows.channel + beyond);
  std::fill_n(packed + s.c * rows.channel, beyond, 0.0F);
  float* packed_weights = panels.floats(s.k * depth);
  const Weights weights{Pieces::of(s.k, kRows), depth, packed_weights};
  const Pieces columns = Pieces::of_vectors(rows.outputs(), tiles::kVectors * tiles::lanes(), tiles::lanes());
  const int64_t block = std::max<int64_t>(1, kBlockWeights / std::max<int64_t>(1, kRows * depth));
  for (int64_t g = 0; g < s.groups; ++g) {
    weights.pack(x.w + g * s.k * depth, packed_weights);
    for (int64_t image = 0; image < s.n; ++image) {
      for (int64_t c = 0; c < s.c; ++c)
        rows.pack(x.x + s.x_at(image, g * s.c + c, 0, 0), packed + c * rows.channel);
      float* y = x.y + s.y_at(image, g * s.k, 0, 0);
      for (int64_t first = 0; first < weights.panels.count; first += block)
        for (int64_t q = 0; q < columns.count; ++q)
          tile_column(weights, first, std::min(first + block, weights.panels.count), rows, shifts.data(),
                      packed, columns.begin(q), columns.begin(q + 1) - columns.begin(q), x.b + g * s.k, y);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace klab {
namespace {

HWY_EXPORT(convolve);
void run(const Conv2dFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(convolve)(x); }

std::string supported(const Conv2dShape& s, const Host&) {
  return s.nhwc == 0 ? "" : "its vectors run along rows of one channel: NCHW only";
}

// Tiles are up to 6 channels and, by machine, 8, 16, 32 or 64 pixels.
KLAB_VARIANT(Conv2dFwd,
             {.run = run,
              .parent = "04_register_tile",
              .tiles = {6, 16, 64},
              .expect = {.shape = {1, 1, 64, 64, 56, 56, 3, 3, 1, 1, 1, 1, 1, 1, 0}, .over_parent = 1.08},
              .supported = supported});

}  // namespace
}  // namespace klab
#endif
