// Contract of draw_rays: pixels drawn from all the pictures, and the rays that end in them.
//
//   ray r < count: words w of Philox 4x32-10 (reference/dropout_fwd/philox.h) at counter {r, 0, step[0], step[1]} under key `seed`
//     drawn = 1:  view = w0·views >> 32,  pixel = that of the view's n with a ray with the number w1·n >> 32,
//                 jitter = (w2 >> 8)·2^-24
//     drawn = 2:  as 1, and the ray passes its pixel not in the middle but at ((w3 >> 24) + 1/2, (w3 >> 16 mod 2^8) + 1/2)/256
//     drawn = 0:  view = 0,  pixel = (step[0] + r) mod width·height,  jitter = 1/2          pictures, a stretch at a time
//   background: 0 black, 1 white, 2 the words of counter {r, 1, step[0], step[1]} as jitter is made of its word
//   color = alpha·rgb/255 + (1 - alpha)·background,  alpha = a/255        background alone where there are no pixels
//
// A ray goes from the camera's position through the middle (u, v) of its pixel, or the point drawn in it (or
// the middle, if the lens shows nothing at that point). The lens maps p to q = ((u - cx)/fx, (v - cy)/fy); p
// is found by Newton's method on OpenCV's distortion model
//
//   q = p·(1 + k1·r² + k2·r⁴) + (2·p1·x·y + p2·(r² + 2x²), 2·p2·x·y + p1·(r² + 2y²)),   p = (x, y), r² = x² + y²
//
// and direction = (x·right - y·up - back)/length. r·(1 + k1·r² + k2·r⁴) rises up to its fold, where its
// derivative is zero; a pixel that no p inside of the fold maps to has no ray (labs/radiance/scene/camera.h).
// Steps that would cross the fold are halved until they do not; kLensSteps are enough for any other pixel.
// Lenses are inverted in double: near the fold a rounding of q is magnified without bound. If not all pixels
// have a ray, `seen` lists those that do; drawn = 0 takes all.
//
// A draw depends on seed, step and ray alone, so that all backends and any order of threads draw the same.
// Rays from count on are dummies: they start outside of every grid and lead away; their jitter, background
// and color are zero. The ray of a pixel without a ray is such a dummy, too, but with its background and
// color.
#pragma once

#include "reference/contract.h"

namespace klab {

struct DrawRays {
  static constexpr std::string_view name = "draw_rays";
  static constexpr std::array dims = {"rays", "views", "pixels", "depths", "listed", "background", "drawn"};

  struct Shape {
    int64_t rays;
    int64_t views;
    int64_t pixels;  // of all views, 0: no pictures
    int64_t depths;  // pixels, or 0: no view has true depth
    int64_t listed;  // pixels in lists of those with a ray
    int64_t background;
    int64_t drawn;
  };

  static constexpr int kLensSteps = 60;
  static constexpr int64_t kPlace = 6;  // numbers of a view

  template <class T>
  struct Args {
    Shape shape;
    const uint32_t* seed;  // [2] u32
    const uint32_t* step;  // [2] u32: number of the step, low word first; drawn = 0: the first pixel
    const int32_t* count;  // [1] i32, at most rays
    const T* cameras;      // [views,20] f32: fx fy cx cy k1 k2 p1 p2, then the pose, rows of [R | t]
    const int64_t*
        places;  // [views,6] i64: width, height, its first pixel, its first depth or -1, how many of its pixels
                 // have a ray, where they are listed or -1: all have
    const int32_t* seen;   // [listed] i32: pixels of a view that have a ray
    const uint8_t* image;  // [pixels,4] u8, RGBA
    const T* true_depth;   // [depths] f32, 0 where unknown
    T* origins;            // [3,rays] f32, written (=)
    T* directions;         // [3,rays] f32, unit length, written (=)
    T* jitter;             // [rays] f32, written (=)
    T* backdrop;           // [3,rays] f32, written (=)
    T* color;              // [3,rays] f32, the true color of the ray, written (=)
    T* depth;              // [rays] f32, true depth or 0, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("seed", args.seed, Role::input, Draw::arranged, {2});
    visit("step", args.step, Role::input, Draw::arranged, {2});
    visit("count", args.count, Role::input, Draw::arranged, {1});
    visit("cameras", args.cameras, Role::input, Draw::arranged, {s.views, 20});
    visit("places", args.places, Role::input, Draw::arranged, {s.views, kPlace});
    visit("seen", args.seen, Role::input, Draw::arranged, {s.listed});
    visit("image", args.image, Role::input, Draw::arranged, {s.pixels, 4});
    visit("true_depth", args.true_depth, Role::input, Draw::unit, {s.depths});
    visit("origins", args.origins, Role::output, Draw::real, {3, s.rays});
    visit("directions", args.directions, Role::output, Draw::real, {3, s.rays});
    visit("jitter", args.jitter, Role::output, Draw::real, {s.rays});
    visit("backdrop", args.backdrop, Role::output, Draw::real, {3, s.rays});
    visit("color", args.color, Role::output, Draw::real, {3, s.rays});
    visit("depth", args.depth, Role::output, Draw::real, {s.rays});
  }

  static bool valid(const Shape& s) {
    return s.rays >= 0 && s.views >= 1 && (s.pixels == 0 || s.pixels >= s.views) &&
           (s.depths == 0 || s.depths == s.pixels) && s.listed >= 0 && s.background >= 0 &&
           s.background <= 2 && s.drawn >= 0 && s.drawn <= 2 && s.pixels < (int64_t{1} << 40);
  }

  /// Fourteen numbers a ray out, one pixel in from any place, its depth if there is one; two divisions for q,
  /// one for the length. The lens's steps are left out: most cameras have none.
  static Cost cost(const Shape& s) {
    return {.bytes = (4.0 * 14 + 4 + (s.depths > 0 ? 4 : 0)) * double(s.rays),
            .flops = 60 * double(s.rays),
            .divisions = 3 * double(s.rays),
            .roots = double(s.rays),
            .gathers = double(s.rays),
            .entry_bytes = 4,
            .tables = {{4.0 * double(s.pixels)}},
            .table_bytes = 4.0 * double(s.rays)};
  }

  /// Coefficient of u: two roundings for q, ten for the rest; lenses are inverted in double.
  static double terms(const Shape&) { return 32; }

  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
