// Contract of gs_rasterize_bwd: gradients of a picture of Gaussians with respect to the Gaussians.
//
// A pixel goes through its tile's list as in the forward, with the same decisions. For a Gaussian that it
// uses, with T in front of it, h_c = d_image of this pixel, and behind = <image,h> - (the weighted sum
// <color,h> up to and including it), the contribution of the rest and the background:
//   d_color_c += T·alpha·h_c            d_alpha = T·<color,h> - behind/(1 - alpha)
// and, unless alpha was clamped at 0.99 (there it is constant),
//   d_opacity += exp(e)·d_alpha    d_e = alpha·d_alpha
//   d_conic += (-dx^2/2, -dx·dy, -dy^2/2)·d_e    d_mean -= (xx·dx + xy·dy, yy·dy + xy·dx)·d_e
// With the finished picture one walk from front to back is enough: no list of the used Gaussians is kept.
#pragma once

#include "reference/gs_rasterize_fwd/gs_rasterize_fwd.h"

namespace klab {

struct GsRasterizeBwd {
  using Forward = GsRasterizeFwd;
  static constexpr std::string_view name = "gs_rasterize_bwd";
  static constexpr std::array dims = {"n", "pairs", "width", "height"};
  using Shape = GsRasterizeFwd::Shape;

  template <class T>
  struct Args {
    Shape shape;
    const T* mean;              // [2,n] f32
    const T* conic;             // [3,n] f32
    const T* opacity;           // [n] f32
    const T* color;             // [3,n] f32
    const int32_t* tile_begin;  // [tiles+1] i32
    const int32_t* id;          // [pairs] i32
    const T* image;             // [3,height,width] f32, the forward's
    const T* d_image;           // [3,height,width] f32
    T* d_mean;                  // [2,n] f32, written (=)
    T* d_conic;                 // [3,n] f32, written (=)
    T* d_opacity;               // [n] f32, written (=)
    T* d_color;                 // [3,n] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("mean", args.mean, Role::input, Draw::arranged, {2, s.n});
    visit("conic", args.conic, Role::input, Draw::arranged, {3, s.n});
    visit("opacity", args.opacity, Role::input, Draw::arranged, {s.n});
    visit("color", args.color, Role::input, Draw::unit, {3, s.n});
    visit("tile_begin", args.tile_begin, Role::input, Draw::arranged, {s.tiles() + 1});
    visit("id", args.id, Role::input, Draw::arranged, {s.pairs});
    visit("image", args.image, Role::input, Draw::unit, {3, s.height, s.width});
    visit("d_image", args.d_image, Role::input, Draw::real, {3, s.height, s.width});
    visit("d_mean", args.d_mean, Role::output, Draw::real, {2, s.n});
    visit("d_conic", args.d_conic, Role::output, Draw::real, {3, s.n});
    visit("d_opacity", args.d_opacity, Role::output, Draw::real, {s.n});
    visit("d_color", args.d_color, Role::output, Draw::real, {3, s.n});
  }

  static bool valid(const Shape& s) { return GsRasterizeFwd::valid(s); }

  /// 36 bytes in and 36 out a Gaussian, 4 an entry, 24 a pixel. A reached pixel: alpha as in the forward 30,
  /// weights and <color,h> 8, d_alpha 6, nine products and sums 26, and a reciprocal.
  static Cost cost(const Shape& s) {
    const double pixels = double(s.width) * double(s.height),
                 reached = GsRasterizeFwd::reached * double(s.pairs);
    return {.bytes = 72 * double(s.n) + 4 * double(s.pairs) + 24 * pixels,
            .flops = 70 * reached,
            .transcendentals = reached,
            .divisions = reached};
  }

  static double terms(const Shape&) { return 4; }

  /// Draws inputs like the forward.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
