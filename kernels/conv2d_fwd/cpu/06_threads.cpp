// conv2d_fwd.cpu.06_threads: one layer on all cores.
//
// CHANGE    as many images as L2 holds are packed together, channels shared out to the threads; then pieces of the joined rows,
//           times blocks of output channels, are. Threads wait for each other only between the two.
// EXPECT    nearly as many times faster as there are cores at 56x56 (at least 1.7 on two).
// NUMERICS  as the parent: the same bits with any number of threads.
// NEEDS     as the parent, and OpenMP; the packed weights of all groups.
#include <omp.h>

#include <algorithm>
#include <string>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/conv/rows.h"
#include "kernels/common/pad/layers.h"
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

constexpr int64_t kBlockWeights = 48 * 1024;    // floats, 192 KB: a fifth or so of L2
constexpr int64_t kBlockPictures = 128 * 1024;  // floats, 512 KB: packed and used before they leave it

#include "kernels/conv2d_fwd/cpu/05_joined_rows-inl.h"

/// As many threads as there are portions of work that take several times as long as waking one.
int choose_threads(const Conv2dShape& s) {
  constexpr double portion = 5e5;  // operations: some microseconds
  return std::max(1, int(std::min(2 * s.products() / portion, double(omp_get_max_threads()))));
}

void convolve(const Conv2dFwd::Args<float>& x) {
  static thread_local Scratch picture, panels;  // those of the thread that calls; its team uses them
  const Conv2dShape& s = x.shape;
  const Layer layer(s);
  const int64_t depth = layer.depth(), channel = layer.rows.channel, beyond = tiles::kMaxColumns;
  const int64_t of_image = s.in_channels() * channel, together = kBlockPictures / (of_image + 1);
  const int64_t images = std::clamp<int64_t>(together, 1, std::max<int64_t>(1, s.n));
  float* packed = picture.floats(images * of_image + beyond);
  std::fill_n(packed + images * of_image, beyond, 0.0F);
  float* weights = panels.floats(s.out_channels() * depth);
  const Pieces blocks = Pieces::of(s.k, layer.block(), kRows);
  const int64_t panels_of_group = (s.k + kRows - 1) / kRows;
#pragma omp parallel num_threads(choose_threads(s))
  {
#pragma omp for schedule(static)
    for (int64_t i = 0; i < s.groups * panels_of_group; ++i) {
      const int64_t k = i % panels_of_group * kRows, at = (i / panels_of_group * s.k + k) * depth;
      pack_weights(x.w + at, std::min(kRows, s.k - k), depth, weights + at);
    }
    for (int64_t first = 0; first < s.n; first += images) {
      const int64_t some = std::min(images, s.n - first);
#pragma omp for schedule(static)
      for (int64_t i = 0; i < some * s.in_channels(); ++i) {
        const int64_t image = first + i / s.in_channels(), c = i % s.in_channels();
        if (!in_place(layer, s, image, c / s.c))
          layer.rows.pack(x.x + s.x_at(image, c, 0, 0), packed + i * channel);
      }
#pragma omp for schedule(static)
      for (int64_t i = 0; i < some * s.groups * blocks.count * layer.columns.count; ++i) {
        const int64_t which = i % layer.columns.count, block = i / layer.columns.count % blocks.count;
        const int64_t ig = i / layer.columns.count / blocks.count, g = ig % s.groups, image = ig / s.groups;
        const float* from = in_place(layer, s, first + image, g)
                                ? x.x + s.x_at(first + image, g * s.c, 0, 0)
                                : packed + (image * s.in_channels() + g * s.c) * channel;
        piece(layer, which, blocks.begin(block), blocks.begin(block + 1), from, weights + g * s.k * depth,
              x.b + g * s.k, x.y + s.y_at(first + image, g * s.k, 0, 0));
      }
    }
  }
}

KLAB_SIMD_ONCE(convolve);

#if HWY_ONCE
void run(const Conv2dFwd::Args<float>& x) {
  if (x.shape.border != 0) return pad::forward(x, x.shape.in_channels(), run);
  HWY_DYNAMIC_DISPATCH(convolve)(x);
}

std::string supported(const Conv2dShape& s, const Host&) {
  return s.nhwc == 0 ? "" : "its vectors run along rows of one channel: NCHW only";
}

// Tiles are up to 6 channels and, by machine, 8, 16, 32 or 64 pixels.
KLAB_VARIANT(Conv2dFwd,
             {.run = run,
              .parent = "05_joined_rows",
              .tiles = {6, 16, 64},
              .needs = {"border"},
              .expect = {.shape = {1, 1, 64, 64, 56, 56, 3, 3, 1, 1, 1, 1, 1, 1, 0}, .over_parent = 1.7},
              .supported = supported});
KLAB_SIMD_CLOSE();
#endif
