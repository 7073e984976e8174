// Contract of gs_project_bwd: gradients of gs_project_fwd's outputs with respect to the Gaussians in space.
//
// With the forward's names, g' for the gradient of the loss with respect to g, and D = p·r - q^2:
//   D' = -(xx·xx' + xy·xy' + yy·yy')/D     p' = yy'/D + r·D'     r' = xx'/D + p·D'     q' = -xy'/D - 2·q·D'
// The variances include the constant 0.3, and p, r and D above are those with it. Then with a = M^T·(row 0 of
// J·W), b = M^T·(row 1):
//   a' = 2·p'·a + q'·b     b' = q'·a + 2·r'·b     M' = row0·a'^T + row1·b'^T     (row 0)' = M·a'     (row 1)' = M·b'
// q' counts once for both places of q in the symmetric matrix. The rows' gradients go to z and to u, v, which
// have no gradient where they are clamped at the border; that of M goes to scales and rotation, through the
// division by |q|. `depth` and `extent` only decide whether a Gaussian is drawn: they have no gradient.
#pragma once

#include "reference/gs_project_fwd/gs_project_fwd.h"

namespace klab {

struct GsProjectBwd {
  using Forward = GsProjectFwd;
  static constexpr std::string_view name = "gs_project_bwd";
  static constexpr std::array dims = {"n", "width", "height", "tight"};
  using Shape = GsProjectFwd::Shape;

  template <class T>
  struct Args {
    Shape shape;
    const T* camera;       // [17] f32, GsProjectFwd::Camera
    const T* position;     // [3,n] f32
    const T* log_scale;    // [3,n] f32
    const T* quaternion;   // [4,n] f32
    const T* opacity_raw;  // [n] f32
    const T* d_mean;       // [2,n] f32
    const T* d_conic;      // [3,n] f32; that of xy for both of its places
    const T* d_opacity;    // [n] f32
    T* d_position;         // [3,n] f32, written (=)
    T* d_log_scale;        // [3,n] f32, written (=)
    T* d_quaternion;       // [4,n] f32, written (=)
    T* d_opacity_raw;      // [n] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const int64_t n = args.shape.n;
    visit("camera", args.camera, Role::input, Draw::arranged, {GsProjectFwd::kCamera});
    visit("position", args.position, Role::input, Draw::arranged, {3, n});
    visit("log_scale", args.log_scale, Role::input, Draw::arranged, {3, n});
    visit("quaternion", args.quaternion, Role::input, Draw::arranged, {4, n});
    visit("opacity_raw", args.opacity_raw, Role::input, Draw::arranged, {n});
    visit("d_mean", args.d_mean, Role::input, Draw::real, {2, n});
    visit("d_conic", args.d_conic, Role::input, Draw::real, {3, n});
    visit("d_opacity", args.d_opacity, Role::input, Draw::real, {n});
    visit("d_position", args.d_position, Role::output, Draw::real, {3, n});
    visit("d_log_scale", args.d_log_scale, Role::output, Draw::real, {3, n});
    visit("d_quaternion", args.d_quaternion, Role::output, Draw::real, {4, n});
    visit("d_opacity_raw", args.d_opacity_raw, Role::output, Draw::real, {n});
  }

  static bool valid(const Shape& s) { return GsProjectFwd::valid(s); }

  /// 44 bytes and 24 of gradients in, 44 out. The forward's arithmetic up to the determinant, 120, and about as much again
  /// backward: covariance 20, axes 12, rows and M 48, rotation 60, position 35.
  static Cost cost(const Shape& s) {
    const auto n = double(s.n);
    return {
        .bytes = 112 * n + 68, .flops = 295 * n, .transcendentals = 4 * n, .divisions = 4 * n, .roots = n};
  }

  static double terms(const Shape&) { return 4; }

  /// Draws inputs like the forward.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
