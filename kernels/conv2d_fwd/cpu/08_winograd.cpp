// conv2d_fwd.cpu.08_winograd: 16 multiplications for four outputs of a 3x3 kernel, in place of 36.
//
// CHANGE    F(2x2,3x3) of Lavin and Gray (Fast Algorithms for Convolutional Neural Networks, CVPR 2016, section 4.1): with the
//           4x4 pixels d behind a 2x2 block of outputs and the kernel g,  Y = Aᵀ[(G g Gᵀ) ⊙ (Bᵀ d B)]A.  The 16 products are
//           summed over channels first, each as a matrix product by the parent's tile; transforms are additions.
// EXPECT    2.25 times fewer multiply-adds; transforms of input and output take some of that back: at least 1.15 times.
// NUMERICS  float. Bᵀ and Aᵀ add twice in each direction, G three times, then a product and c additions: at most c + 14
//           roundings, of a sum of absolute values S = |Aᵀ|[Σ_c (|G||g||Gᵀ|) ⊙ (|Bᵀ||d||B|)]|A|, so |error| <= γ_{c+14}·S
//           (Higham, eq. 3.5). S has products of taps and pixels that do not belong together and cancel: each of 9 taps meets
//           64/9 pixels where it should meet one, so S is about 64/9 times the contract's Σ|w||x|. Since (c + 14)·64/9 stays below
//           the contract's 9c + 1 for c >= 54, there the bound holds as for other variants, in the mean; for fewer channels
//           roundings would all have to lean one way to break it. Where a tap of zero meets large pixels S is large and Σ|w||x|
//           is not: no bound element by element holds there, and accuracy is that of the whole window. Declared linear.
// NEEDS     NCHW, 3x3, stride and dilation 1, 8 channels or more; scratch memory for transforms.
// TRIED     see NOTES.md, cpu.08_winograd
#include <omp.h>

#include <algorithm>
#include <string>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/conv/rows.h"
#include "kernels/common/scratch.h"
#include "kernels/common/simd.h"
#include "reference/conv2d_fwd/conv2d_fwd.h"

#include "kernels/common/conv/tile-inl.h"

KLAB_SIMD_BEGIN();

namespace tiles = klab::conv::HWY_NAMESPACE;
using conv::JoinedRows;
using tiles::kMaxColumns;
using tiles::kRows;
using Tag = hn::ScalableTag<float>;
constexpr int64_t kMost = 16;  // products of a block

/// G g Gᵀ of one kernel, element q at to[q·stride].
void transform_weights(const float* g, float* to, int64_t stride) {
  float half[4][3];
  const auto expand = [](float a, float b, float c, auto&& put) {
    put(0, a);
    put(1, 0.5F * (a + b + c));
    put(2, 0.5F * (a - b + c));
    put(3, c);
  };
  for (int v = 0; v < 3; ++v)
    expand(g[v], g[3 + v], g[6 + v], [&](int u, float value) { half[u][v] = value; });
  for (int u = 0; u < 4; ++u)
    expand(half[u][0], half[u][1], half[u][2], [&](int v, float value) { to[(4 * u + v) * stride] = value; });
}

/// All weights of a group as panels of kRows channels, the 16 elements outermost: [16][panel][c][height].
void pack_weights(const Conv2dShape& s, const float* w, float* to) {
#pragma omp for schedule(static)
  for (int64_t k = 0; k < s.k; ++k) {
    const int64_t begin = k / kRows * kRows, height = std::min(kRows, s.k - begin);
    for (int64_t c = 0; c < s.c; ++c)
      transform_weights(w + (k * s.c + c) * 9, to + begin * s.c + c * height + k - begin, s.k * s.c);
  }
}

/// Bᵀ d B of `wide` vectors of blocks. Pixel (a,b) of the blocks is at x[shifts[4·a + b]], element q goes to v[q·stride].
HWY_INLINE void transform_input(const float* x, const int64_t* shifts, int64_t wide, float* v,
                                int64_t stride) {
  const Tag d;
  using Vector = hn::Vec<Tag>;
  for (int64_t j = 0; j < wide * tiles::lanes(); j += tiles::lanes()) {
    Vector m[16];
    for (int b = 0; b < 4; ++b) {  // columns: Bᵀd
      const auto at = [&](int a) { return hn::LoadU(d, x + shifts[4 * a + b] + j); };
      const auto d_0 = at(0), d_1 = at(1), d_2 = at(2), d_3 = at(3);
      m[b] = hn::Sub(d_0, d_2);
      m[4 + b] = hn::Add(d_1, d_2);
      m[8 + b] = hn::Sub(d_2, d_1);
      m[12 + b] = hn::Sub(d_1, d_3);
    }
    for (int a = 0; a < 4; ++a) {  // rows: ·B
      float* to = v + 4 * a * stride + j;
      hn::StoreU(hn::Sub(m[4 * a], m[4 * a + 2]), d, to);
      hn::StoreU(hn::Add(m[4 * a + 1], m[4 * a + 2]), d, to + stride);
      hn::StoreU(hn::Sub(m[4 * a + 2], m[4 * a + 1]), d, to + 2 * stride);
      hn::StoreU(hn::Sub(m[4 * a + 1], m[4 * a + 3]), d, to + 3 * stride);
    }
  }
}

/// AᵀmA of one channel's `wide` vectors of blocks, element q at m[q·kRows·kMaxColumns]: the upper outputs of the blocks side by
/// side in out[0], the lower ones in out[1].
HWY_INLINE void transform_output(const float* m, float bias, int64_t wide, float (*out)[2 * kMaxColumns]) {
  const Tag d;
  for (int64_t j = 0; j < wide * tiles::lanes(); j += tiles::lanes()) {
    const auto at = [&](int q) { return hn::Load(d, m + q * kRows * kMaxColumns + j); };
    const auto b = hn::Set(d, bias);
    for (int a = 0; a < 2; ++a) {
      const auto column = [&](int q) {  // Aᵀ = (1 1 1 0; 0 1 1 1) with signs
        return a == 0 ? hn::Add(at(q), hn::Add(at(4 + q), at(8 + q)))
                      : hn::Sub(hn::Sub(at(4 + q), at(8 + q)), at(12 + q));
      };
      const auto c_0 = column(0), c_1 = column(1), c_2 = column(2), c_3 = column(3);
      const auto left = hn::Add(b, hn::Add(c_0, hn::Add(c_1, c_2)));
      const auto right = hn::Add(b, hn::Sub(hn::Sub(c_1, c_2), c_3));
      hn::StoreInterleaved2(left, right, d, out[a] + 2 * j);
    }
  }
}

/// Blocks [t, t + count) of the joined rows of blocks, all output channels of a group.
void piece(const Conv2dShape& s, const JoinedRows& rows, const int64_t* pixels, int64_t t, int64_t count,
           const float* picture, const float* weights, const float* bias, float* y) {
  static thread_local Scratch scratch;
  HWY_ALIGN float m[kMost * kRows * kMaxColumns];
  HWY_ALIGN float out[2][2 * kMaxColumns];
  HWY_ALIGN float none[kRows] = {};
  const int64_t wide = (count + tiles::lanes() - 1) / tiles::lanes(), oh = s.oh(), ow = s.ow();
  float* v = scratch.floats(kMost * s.c * kMaxColumns);
  for (int64_t c = 0; c < s.c; ++c)
    transform_input(picture + c * rows.channel + t, pixels, wide, v + c * kMaxColumns, s.c * kMaxColumns);
  std::vector<int64_t> channels(static_cast<size_t>(s.c));
  for (int64_t c = 0; c < s.c; ++c) channels[size_t(c)] = c * kMaxColumns;
  for (int64_t k = 0; k < s.k; k += kRows) {
    const int64_t height = std::min(kRows, s.k - k);
    for (int64_t q = 0; q < kMost; ++q)
      tiles::tile(height, wide, s.c, weights + q * s.k * s.c + k * s.c, channels.data(),
                  v + q * s.c * kMaxColumns, none, m + q * kRows * kMaxColumns);
    for (int64_t r = 0; r < height; ++r) {
      transform_output(m + r * kMaxColumns, bias[k + r], wide, out);
      rows.each_piece(t, count, [&](int64_t from, int64_t to, int64_t length) {
        const int64_t i = to / rows.ow * 2, j = to % rows.ow * 2;  // of the first block
        for (int64_t a = 0; a < std::min<int64_t>(2, oh - i); ++a)
          std::copy_n(out[a] + 2 * from, std::min(2 * length, ow - j), y + ((k + r) * oh + i + a) * ow + j);
      });
    }
  }
}

void convolve(const Conv2dFwd::Args<float>& x) {
  static thread_local Scratch picture, transformed;
  const Conv2dShape& s = x.shape;
  // Blocks are outputs of stride 2, whose pixels lie in four phases of the picture.
  Conv2dShape blocks = s;
  blocks.stride_y = blocks.stride_x = 2;
  const JoinedRows rows(blocks);
  int64_t pixels[16];
  for (int64_t q = 0; q < 16; ++q) pixels[q] = rows.at(q / 4, q % 4);
  const conv::Pieces pieces =
      conv::Pieces::of(rows.outputs(), tiles::kVectors * tiles::lanes(), tiles::lanes());
  float* packed = picture.floats(s.c * rows.channel + kMaxColumns);
  std::fill_n(packed + s.c * rows.channel, kMaxColumns, 0.0F);
  float* weights = transformed.floats(kMost * s.k * s.c);
  const int threads = int(std::min(2 * s.products() / 5e5 + 1, double(omp_get_max_threads())));
#pragma omp parallel num_threads(threads)
  for (int64_t g = 0; g < s.groups; ++g) {
    pack_weights(s, x.w + g * s.k * s.c * 9, weights);
    for (int64_t image = 0; image < s.n; ++image) {
#pragma omp for schedule(static)
      for (int64_t c = 0; c < s.c; ++c)
        rows.pack(x.x + s.x_at(image, g * s.c + c, 0, 0), packed + c * rows.channel);
#pragma omp for schedule(static)
      for (int64_t p = 0; p < pieces.count; ++p)
        piece(s, rows, pixels, pieces.begin(p), pieces.begin(p + 1) - pieces.begin(p), packed, weights,
              x.b + g * s.k, x.y + s.y_at(image, g * s.k, 0, 0));
    }
  }
}

KLAB_SIMD_ONCE(convolve);

#if HWY_ONCE
void run(const Conv2dFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(convolve)(x); }

std::string supported(const Conv2dShape& s, const Host&) {
  if (s.nhwc != 0) return "its vectors run along rows of one channel: NCHW only";
  if (s.r != 3 || s.s != 3 || std::max({s.stride_y, s.stride_x, s.dilation_y, s.dilation_x}) != 1)
    return "F(2x2,3x3) is for 3x3 kernels with stride and dilation 1";
  return s.c >= 8 ? "" : "with fewer than 8 channels the transforms cost more than they save";
}

KLAB_VARIANT(Conv2dFwd,
             {.run = run,
              .parent = "06_threads",
              .numerics = {.growth = Growth::linear},
              .tiles = {6, 16, 64},
              .expect = {.shape = {1, 1, 256, 256, 28, 28, 3, 3, 1, 1, 1, 1, 1, 1, 0}, .over_parent = 1.15},
              .when = {{1, 1, 256, 256, 28, 28, 3, 3, 1, 1, 1, 1, 1, 1, 0},
                       "many channels: multiplications are all that counts"},
              .supported = supported});
KLAB_SIMD_CLOSE();
#endif
