// Contract of gs_antialias_fwd: the opacity that a Gaussian keeps when the low-pass widens it.
//
//   q = (1 - b·xx)·(1 - b·yy) - (b·xy)^2        b = 0.3, the variance that gs_project_fwd adds
//   shown = opacity·sqrt(max(q, 2.5e-5))
//
// q is the determinant of the covariance before b was added, over that behind it: with S + b·I for the covariance and C for its inverse,
// which `conic` holds, det(S)/det(S + b·I) = det(I - b·C). A Gaussian thinner than a pixel is widened to about a pixel, and shows as much
// light as it would have, averaged over the pixel: less than its opacity. Without the factor it gets brighter as the camera moves away.
//
// (Yu, Chen, Huang, Sattler, Geiger, "Mip-Splatting: alias-free 3D Gaussian splatting", CVPR 2024, section 5.2: the filter. The least
// value of q is that of the program of Kerbl and others, whose option this is, too.)
#pragma once

#include "reference/contract.h"

namespace klab {

struct GsAntialiasFwd {
  static constexpr std::string_view name = "gs_antialias_fwd";
  static constexpr std::array dims = {"n"};
  static constexpr double blur = 0.3;      // pixels^2: GsProjectFwd::low_pass
  static constexpr double least = 2.5e-5;  // of q

  struct Shape {
    int64_t n;
  };

  template <class T>
  struct Args {
    Shape shape;
    const T*
        conic;  // [3,n] f32, xx, xy, yy of the inverse covariance behind the low-pass; 0: a culled Gaussian
    const T* opacity;  // [n] f32
    T* shown;          // [n] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const int64_t n = args.shape.n;
    visit("conic", args.conic, Role::input, Draw::arranged, {3, n});
    visit("opacity", args.opacity, Role::input, Draw::unit, {n});
    visit("shown", args.shown, Role::output, Draw::real, {n});
  }

  /// 16 bytes in and 4 out. Two factors 4, their product and the square of b·xy 4, the maximum and the product 2; a root.
  static Cost cost(const Shape& s) {
    const auto n = double(s.n);
    return {.bytes = 20 * n, .flops = 10 * n, .roots = n};
  }

  /// Factor on the running error of the formulas above, for another order.
  static double terms(const Shape&) { return 4; }

  /// Draws covariances of Gaussians of a fifth of a pixel to six, one in 16 culled. Widely: from a thousandth of a pixel to a hundred.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
