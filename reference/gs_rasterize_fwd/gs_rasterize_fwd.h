// Contract of gs_rasterize_fwd: draws Gaussians front to back, from a list for each tile of 16x16 pixels.
//
// A pixel at the center (x,y) goes through its tile's list, with T = 1 at first:
//   d = mean - (x,y)    e = -(xx·dx^2 + yy·dy^2)/2 - xy·dx·dy    alpha = min(0.99, opacity·exp(e))
//   alpha < 1/255: the Gaussian is skipped
//   T·(1 - alpha) < 1e-4: the pixel ends before this Gaussian
//   color += T·alpha·(the Gaussian's color)    T = T·(1 - alpha)
// image = color + T·background, transmittance = T.
//
// (Kerbl, Kopanas, Leimkuehler, Drettakis, "3D Gaussian splatting for real-time radiance field rendering",
// ACM TOG 42(4), 2023, section 6 and appendix C.)
#pragma once

#include "reference/contract.h"

namespace klab {

struct GsRasterizeFwd {
  static constexpr std::string_view name = "gs_rasterize_fwd";
  static constexpr std::array dims = {"n", "pairs", "width", "height"};
  static constexpr int64_t tile = 16;  // pixels
  static constexpr double most = 0.99, least = 1.0 / 255, stop = 1e-4;

  struct Shape {
    int64_t n;
    int64_t pairs;          // entries of all lists
    int64_t width, height;  // pixels
    int64_t columns() const { return (width + tile - 1) / tile; }
    int64_t rows() const { return (height + tile - 1) / tile; }
    int64_t tiles() const { return columns() * rows(); }
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* mean;              // [2,n] f32, pixels
    const T* conic;             // [3,n] f32, xx, xy, yy of the inverse covariance, which is positive definite
    const T* opacity;           // [n] f32, in [0,1]
    const T* color;             // [3,n] f32
    const T* background;        // [3] f32
    const int32_t* tile_begin;  // [tiles+1] i32, ascending from 0 to at most pairs
    const int32_t* id;          // [pairs] i32, tile by tile, nearest first
    T* image;                   // [3,height,width] f32, written (=)
    T* transmittance;           // [height,width] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("mean", args.mean, Role::input, Draw::arranged, {2, s.n});
    visit("conic", args.conic, Role::input, Draw::arranged, {3, s.n});
    visit("opacity", args.opacity, Role::input, Draw::arranged, {s.n});
    visit("color", args.color, Role::input, Draw::unit, {3, s.n});
    visit("background", args.background, Role::input, Draw::unit, {3});
    visit("tile_begin", args.tile_begin, Role::input, Draw::arranged, {s.tiles() + 1});
    visit("id", args.id, Role::input, Draw::arranged, {s.pairs});
    visit("image", args.image, Role::output, Draw::real, {3, s.height, s.width});
    visit("transmittance", args.transmittance, Role::output, Draw::real, {s.height, s.width});
  }

  static bool valid(const Shape& s) {
    return s.n >= 0 && s.pairs >= 0 && s.pairs < (int64_t(1) << 31) && s.width >= 1 && s.height >= 1 &&
           (s.n > 0 || s.pairs == 0);
  }

  /// Average number of a tile's pixels that a listed Gaussian reaches before they end, for the inputs drawn
  /// here: about a quarter of 256. It depends on the data, not on the shape.
  static constexpr double reached = 64;

  /// 36 bytes a Gaussian, 4 an entry, 16 a pixel. A reached pixel: distance 2, exponent 9, alpha 1, weight 1,
  /// three sums 6, transmittance 2, comparisons 2, and an exponential.
  static Cost cost(const Shape& s) {
    const double pixels = double(s.width) * double(s.height);
    return {.bytes = 36 * double(s.n) + 4 * double(s.pairs) + 16 * pixels,
            .flops = reached * 39 * double(s.pairs) + 6 * pixels,
            .transcendentals = reached * double(s.pairs)};
  }

  /// Factor on the running error, for exponents and sums in another order.
  static double terms(const Shape&) { return 4; }

  /// Draws Gaussians of half a pixel to six, and a tile's list from those in it and around it. If lists are
  /// short, no pixel is near 1/255 or 0.99. Widely: needles, opacities of 0 and 1, lists of only a few tiles.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
