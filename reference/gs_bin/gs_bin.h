// Contract of gs_bin: the Gaussians that may be visible in each tile of a picture, nearest first.
//
//   tiles are 16x16 pixels, row by row; Gaussian g covers columns floor((x - ex)/16) to floor((x + ex)/16) of them and the
//   rows likewise, cut to the picture; none where an extent is not above 0
//   tile t has id[begin[t]] ... id[begin[t+1] - 1], in the order of `order`
//
// In float arithmetic, sums and quotients rounded once each, so that all variants agree on the tiles.
// `needed` counts all entries. If there are more than `pairs`, the lists are cut there (begin[t] is at most
// pairs), and the caller repeats the call with more room. Places after the last entry hold n, which is no
// Gaussian.
#pragma once

#include "reference/contract.h"

namespace klab {

struct GsBin {
  static constexpr std::string_view name = "gs_bin";
  static constexpr std::array dims = {"n", "pairs", "width", "height"};
  static constexpr int64_t tile = 16;  // pixels

  struct Shape {
    int64_t n;
    int64_t pairs;          // room for entries of all lists
    int64_t width, height;  // pixels
    int64_t columns() const { return (width + tile - 1) / tile; }
    int64_t rows() const { return (height + tile - 1) / tile; }
    int64_t tiles() const { return columns() * rows(); }
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* mean;         // [2,n] f32, pixels
    const T* extent;       // [2,n] f32, pixels, half of a box
    const int32_t* order;  // [n] i32, a permutation: nearest first
    int32_t* tile_begin;   // [tiles+1] i32, written (=)
    int32_t* id;           // [pairs] i32, written (=)
    int32_t* needed;       // [1] i32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("mean", args.mean, Role::input, Draw::arranged, {2, s.n});
    visit("extent", args.extent, Role::input, Draw::arranged, {2, s.n});
    visit("order", args.order, Role::input, Draw::arranged, {s.n});
    visit("tile_begin", args.tile_begin, Role::output, Draw::real, {s.tiles() + 1});
    visit("id", args.id, Role::output, Draw::real, {s.pairs});
    visit("needed", args.needed, Role::output, Draw::real, {1});
  }

  static bool valid(const Shape& s) {
    return s.n >= 0 && s.n < (int64_t(1) << 31) && s.pairs >= 0 && s.pairs < (int64_t(1) << 31) &&
           s.width >= 1 && s.height >= 1 && s.tiles() < (int64_t(1) << 24);
  }

  /// 20 bytes a Gaussian, 4 an entry; four quotients and roundings a Gaussian.
  static Cost cost(const Shape& s) {
    return {.bytes = 20.0 * double(s.n) + 4.0 * double(s.pairs) + 4.0 * double(s.tiles()),
            .flops = 12.0 * double(s.n)};
  }

  /// Whole numbers.
  static double terms(const Shape&) { return 0; }

  /// Draws boxes that together cover about `pairs` tiles; one in 16 is outside or without extent. Widely:
  /// some as large as the picture, some that end at the border of a tile.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
