// As many Gaussians at once as a vector has lanes, on their way to the picture. Included by kernel files inside Highway's
// foreach_target, once a target.
#if defined(KLAB_KERNELS_COMMON_GAUSSIAN_PROJECT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KLAB_KERNELS_COMMON_GAUSSIAN_PROJECT_INL_H_
#undef KLAB_KERNELS_COMMON_GAUSSIAN_PROJECT_INL_H_
#else
#define KLAB_KERNELS_COMMON_GAUSSIAN_PROJECT_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {

using GsTag = hwy::HWY_NAMESPACE::CappedTag<float, 16>;

/// A vector that formulas can be written with.
struct Lanes {
  hwy::HWY_NAMESPACE::Vec<GsTag> v;
};
HWY_INLINE Lanes all(float x) { return {hwy::HWY_NAMESPACE::Set(GsTag(), x)}; }
HWY_INLINE Lanes operator+(Lanes a, Lanes b) { return {hwy::HWY_NAMESPACE::Add(a.v, b.v)}; }
HWY_INLINE Lanes operator-(Lanes a, Lanes b) { return {hwy::HWY_NAMESPACE::Sub(a.v, b.v)}; }
HWY_INLINE Lanes operator*(Lanes a, Lanes b) { return {hwy::HWY_NAMESPACE::Mul(a.v, b.v)}; }
HWY_INLINE Lanes operator/(Lanes a, Lanes b) { return {hwy::HWY_NAMESPACE::Div(a.v, b.v)}; }
HWY_INLINE Lanes operator-(Lanes a) { return {hwy::HWY_NAMESPACE::Neg(a.v)}; }
HWY_INLINE Lanes root(Lanes a) { return {hwy::HWY_NAMESPACE::Sqrt(a.v)}; }
HWY_INLINE Lanes exponential(Lanes a) { return {exp_saturated(GsTag(), a.v)}; }
HWY_INLINE Lanes larger(Lanes a, Lanes b) { return {hwy::HWY_NAMESPACE::Max(a.v, b.v)}; }
HWY_INLINE Lanes smaller(Lanes a, Lanes b) { return {hwy::HWY_NAMESPACE::Min(a.v, b.v)}; }
HWY_INLINE Lanes held_within(Lanes a, Lanes most) { return smaller(larger(a, -most), most); }
HWY_INLINE Lanes load(const float* p, size_t count) { return {load_first(GsTag(), p, count)}; }
HWY_INLINE void store(Lanes a, float* p, size_t count) { store_first(a.v, GsTag(), p, count); }

/// Values of a view and its camera that are the same for all Gaussians.
struct GsView {
  Lanes W[9], t[3], focal[2], most[2], near;
};

/// Prepares a view; camera as in GsProjectFwd::Camera, the picture's size in pixels.
HWY_INLINE GsView gs_view(const float* camera, int64_t width, int64_t height) {
  GsView view;
  for (int k = 0; k < 9; ++k) view.W[k] = all(camera[k]);
  for (int k = 0; k < 3; ++k) view.t[k] = all(camera[9 + k]);
  for (int k = 0; k < 2; ++k) view.focal[k] = all(camera[12 + k]);
  view.most[0] = all(1.3F * float(width) / (2 * camera[12]));
  view.most[1] = all(1.3F * float(height) / (2 * camera[13]));
  view.near = all(camera[16]);
  return view;
}

/// Up to the covariance on the picture. Lanes that are culled hold anything.
struct GsSeen {
  hwy::HWY_NAMESPACE::Mask<GsTag> in_front;
  Lanes z, per_z, direction[2], held[2];
  Lanes q[4], inverse_length, R[9], scale[3];
  Lanes row[2][3], axis[2][3];
  Lanes var_x, cov, var_y, inverse_determinant;
};

/// Gaussians i to i + count - 1 of n, from arrays as in GsProjectFwd::Args.
HWY_INLINE GsSeen gs_see(const GsView& view, int64_t n, const float* position, const float* log_scale,
                         const float* quaternion, int64_t i, size_t count) {
  GsSeen s;
  const Lanes one = all(1), two = all(2);
  const Lanes at[3] = {load(position + i, count), load(position + n + i, count),
                       load(position + 2 * n + i, count)};
  Lanes seen[3];
  for (int e = 0; e < 3; ++e)
    seen[e] = view.W[3 * e] * at[0] + view.W[3 * e + 1] * at[1] + view.W[3 * e + 2] * at[2] + view.t[e];
  s.z = seen[2];
  s.in_front = hwy::HWY_NAMESPACE::Gt(s.z.v, view.near.v);
  s.per_z = one / s.z;
  Lanes square = all(0);
  for (int k = 0; k < 4; ++k) {
    s.q[k] = load(quaternion + k * n + i, count);
    square = square + s.q[k] * s.q[k];
  }
  s.inverse_length = one / root(square);
  for (Lanes& k : s.q) k = k * s.inverse_length;
  const Lanes w = s.q[0], x = s.q[1], y = s.q[2], z = s.q[3];
  s.R[0] = one - two * (y * y + z * z), s.R[1] = two * (x * y - w * z), s.R[2] = two * (x * z + w * y);
  s.R[3] = two * (x * y + w * z), s.R[4] = one - two * (x * x + z * z), s.R[5] = two * (y * z - w * x);
  s.R[6] = two * (x * z - w * y), s.R[7] = two * (y * z + w * x), s.R[8] = one - two * (x * x + y * y);
  for (int k = 0; k < 3; ++k) s.scale[k] = exponential(load(log_scale + k * n + i, count));
  for (int e = 0; e < 2; ++e) {
    s.direction[e] = seen[e] * s.per_z;
    s.held[e] = held_within(s.direction[e], view.most[e]);
    for (int k = 0; k < 3; ++k)
      s.row[e][k] = view.focal[e] * s.per_z * (view.W[3 * e + k] - s.held[e] * view.W[6 + k]);
    for (int k = 0; k < 3; ++k)
      s.axis[e][k] =
          s.scale[k] * (s.R[k] * s.row[e][0] + s.R[3 + k] * s.row[e][1] + s.R[6 + k] * s.row[e][2]);
  }
  const Lanes *a = s.axis[0], *b = s.axis[1];
  s.var_x = a[0] * a[0] + a[1] * a[1] + a[2] * a[2] + all(0.3F);
  s.cov = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  s.var_y = b[0] * b[0] + b[1] * b[1] + b[2] * b[2] + all(0.3F);
  s.inverse_determinant = one / (s.var_x * s.var_y - s.cov * s.cov);
  return s;
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#endif
