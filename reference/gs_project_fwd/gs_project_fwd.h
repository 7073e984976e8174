// Contract of gs_project_fwd: projects Gaussians in space to Gaussians on a camera's picture.
//
//   (x,y,z) = W·position + t                                   camera space: x right, y down, z forward
//   M = R(q/|q|)·diag(exp(log_scale))                          covariance in space: M·M^T; q = (w,x,y,z)
//   J = rows (fx/z, 0, -fx·u/z), (0, fy/z, -fy·v/z)            u = x/z held within ±1.3·(width/2)/fx, v likewise
//   [p q; q r] = J·W·M·M^T·W^T·J^T + 0.3·I                     covariance on the picture, pixels^2
//   mean = (fx·x/z + cx, fy·y/z + cy)     conic = (r, -q, p)/(p·r - q^2)     depth = z
//   opacity = 1/(1 + exp(-opacity_raw))
//
// (Zwicker, Pfister, van Baar, Gross, "EWA splatting", IEEE TVCG 8(3), 2002, section 4: the Jacobian in place
// of the projection. Kerbl, Kopanas, Leimkuehler, Drettakis, "3D Gaussian splatting for real-time radiance
// field rendering", ACM TOG 42(4), 2023, section 4: the parameters; the low-pass of 0.3 and the factor 1.3
// are those of their program.)
//
// `extent` is half a box around the mean beyond which the Gaussian is not drawn:
//   tight 0   a square, three standard deviations along the longer axis
//   tight 1   the box of all points where opacity·exp(-distance^2/2) >= 1/255, by the picture's axes: sqrt(k·p), sqrt(k·r)
//             with k = 2·ln(255·opacity); 0 where the opacity itself is below 1/255
// A Gaussian with z <= near is culled: every output of it is 0.
#pragma once

#include "reference/contract.h"

namespace klab {

struct GsProjectFwd {
  static constexpr std::string_view name = "gs_project_fwd";
  static constexpr std::array dims = {"n", "width", "height", "tight"};
  static constexpr double low_pass = 0.3;  // pixels^2, added to both variances
  static constexpr double border = 1.3;    // of the half picture, beyond which the Jacobian does not change
  static constexpr double levels = 255;    // 1/levels is the least that is drawn

  struct Shape {
    int64_t n;
    int64_t width, height;  // of the picture, pixels
    int64_t tight;          // 0, 1 as above
  };

  /// Order of the camera's numbers: W row by row, t, focal lengths and center in pixels, near.
  enum Camera : int { rotation = 0, translation = 9, fx = 12, fy, cx, cy, near, kCamera };

  template <class T>
  struct Args {
    Shape shape;
    const T* camera;       // [17] f32, see Camera
    const T* position;     // [3,n] f32
    const T* log_scale;    // [3,n] f32, natural logarithms
    const T* quaternion;   // [4,n] f32, w first, of any length but 0
    const T* opacity_raw;  // [n] f32, logit
    T* mean;               // [2,n] f32, written (=), pixels; (0.5,0.5) is the center of the first one
    T* conic;              // [3,n] f32, written (=), xx, xy, yy of the inverse covariance
    T* depth;              // [n] f32, written (=)
    T* opacity;            // [n] f32, written (=)
    T* extent;             // [2,n] f32, written (=), pixels
  };

  static void tensors(auto& args, auto&& visit) {
    const int64_t n = args.shape.n;
    visit("camera", args.camera, Role::input, Draw::arranged, {kCamera});
    visit("position", args.position, Role::input, Draw::arranged, {3, n});
    visit("log_scale", args.log_scale, Role::input, Draw::arranged, {3, n});
    visit("quaternion", args.quaternion, Role::input, Draw::arranged, {4, n});
    visit("opacity_raw", args.opacity_raw, Role::input, Draw::arranged, {n});
    visit("mean", args.mean, Role::output, Draw::real, {2, n});
    visit("conic", args.conic, Role::output, Draw::real, {3, n});
    visit("depth", args.depth, Role::output, Draw::real, {n});
    visit("opacity", args.opacity, Role::output, Draw::real, {n});
    visit("extent", args.extent, Role::output, Draw::real, {2, n});
  }

  static bool valid(const Shape& s) {
    return s.n >= 0 && s.width >= 1 && s.height >= 1 && s.tight >= 0 && s.tight <= 1;
  }

  /// 44 bytes in and 36 out. Camera space 18, rotation 28, M 9, two rows of J·W 11, their products with M^T
  /// 30, covariance 17, the rest 20. Exponentials of three scales and of the opacity, the logarithm of the
  /// tight box; reciprocals of z, |q|^2, the determinant and in the opacity.
  static Cost cost(const Shape& s) {
    const auto n = double(s.n);
    return {.bytes = 80 * n + 68,
            .flops = 133 * n,
            .transcendentals = (4 + double(s.tight)) * n,
            .divisions = 4 * n,
            .roots = 3 * n};
  }

  /// Factor on the running error of the formulas above: two for another order, two for terms of second order
  /// in u.
  static double terms(const Shape&) { return 4; }

  /// Draws a camera in front of a cloud of Gaussians some pixels large; one in 16 behind it, one in 16 far to
  /// the side. No z is near `near`, no direction near the clamp of the Jacobian, no opacity near 1/255.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
