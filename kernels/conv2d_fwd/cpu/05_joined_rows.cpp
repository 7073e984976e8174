// conv2d_fwd.cpu.05_joined_rows: a picture is one long row.
//
// CHANGE    tiles no longer end with a row of the picture: they run along the joined rows, and outputs that
//           fall between two rows are computed and thrown away. Their widths are evened out, so that no last
//           one is nearly empty; panels of weights are taken in blocks that stay in L2; a picture without
//           padding and stride is read where it lies.
// EXPECT    in a row of 57 one output is thrown away; the parent filled 64 lanes for 56. At least 1.08 times
//           at 56x56, more at small pictures, where the parent's vectors are mostly empty.
// NUMERICS  as the parent.
// NEEDS     as the parent.
// TRIED     see NOTES.md, cpu.05_joined_rows
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
using conv::Pieces;
using tiles::kRows;

constexpr int64_t kBlockWeights = 48 * 1024;  // floats, 192 KB: a fifth or so of L2

#include "kernels/conv2d_fwd/cpu/05_joined_rows-inl.h"

void convolve(const Conv2dFwd::Args<float>& x) {
  static thread_local Scratch picture, panels;
  const Conv2dShape& s = x.shape;
  const Layer layer(s);
  const int64_t channel = layer.rows.channel, beyond = tiles::kMaxColumns;
  float* packed = picture.floats(s.c * channel + beyond);
  std::fill_n(packed + s.c * channel, beyond, 0.0F);
  float* weights = panels.floats(s.k * layer.depth());
  for (int64_t g = 0; g < s.groups; ++g) {
    pack_weights(x.w + g * s.k * layer.depth(), s.k, layer.depth(), weights);
    for (int64_t image = 0; image < s.n; ++image) {
      const float* from = x.x + s.x_at(image, g * s.c, 0, 0);
      if (!in_place(layer, s, image, g)) {
        for (int64_t c = 0; c < s.c; ++c) layer.rows.pack(from + c * s.h * s.w, packed + c * channel);
        from = packed;
      }
      for (int64_t k = 0; k < s.k; k += layer.block())
        for (int64_t which = 0; which < layer.columns.count; ++which)
          piece(layer, which, k, std::min(s.k, k + layer.block()), from, weights, x.b + g * s.k,
                x.y + s.y_at(image, g * s.k, 0, 0));
    }
  }
}

KLAB_SIMD_ONCE(convolve);

#if HWY_ONCE
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
KLAB_SIMD_CLOSE();
#endif
