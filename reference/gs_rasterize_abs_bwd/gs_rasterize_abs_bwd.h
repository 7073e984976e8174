// Contract of gs_rasterize_abs_bwd: gs_rasterize_bwd, and how strongly pixels pull at each Gaussian.
//
//   pull = sum over pixels of |what the pixel adds to d_mean|, for x and y
//
// In d_mean pixels that pull to opposite sides cancel: the gradient of a large Gaussian that covers fine detail is small although
// none of its pixels is right. Their absolute values do not cancel, so they tell better where Gaussians are missing.
//
// (Ye, Li, Liu, Qiao, Dou, "AbsGS: recovering fine details for 3D Gaussian splatting", ACM Multimedia 2024, section 4.)
#pragma once

#include "reference/gs_rasterize_bwd/gs_rasterize_bwd.h"

namespace klab {

struct GsRasterizeAbsBwd {
  using Forward = GsRasterizeFwd;
  static constexpr std::string_view name = "gs_rasterize_abs_bwd";
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
    T* pull;                    // [2,n] f32, written (=), sums of absolute values
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
    visit("pull", args.pull, Role::output, Draw::real, {2, s.n});
  }

  static bool valid(const Shape& s) { return GsRasterizeFwd::valid(s); }

  /// Those of gs_rasterize_bwd, and 8 bytes a Gaussian; 8 operations more where a pixel is reached.
  static Cost cost(const Shape& s) {
    Cost cost = GsRasterizeBwd::cost(s);
    cost.bytes += 8 * double(s.n);
    cost.flops += 8 * GsRasterizeFwd::reached * double(s.pairs);
    return cost;
  }

  static double terms(const Shape&) { return 4; }

  /// Draws inputs like the forward.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
