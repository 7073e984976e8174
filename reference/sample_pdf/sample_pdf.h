// Contract of sample_pdf: places samples along rays where the first pass had large weights.
//
// The first pass gives each ray bins between edges e_0 <= e_1 <= ... and a weight for each bin, its share of
// the picture. They become a piecewise-constant probability density, whose distribution is inverted at
// stratified places:
//
//   p_b = (w_b + floor)/sum (w + floor)        F_b = sum of p below b        u_j = (j + jitter_j)/count
//   t_j = e_b + (u_j - F_b)/p_b·(e_{b+1} - e_b)   with F_b <= u_j <= F_{b+1}
//
// (B. Mildenhall and others, "NeRF: representing scenes as neural radiance fields for view synthesis", ECCV
// 2020, section 5.2; the floor, so that no bin is left out and F can be inverted, is that of their program.)
// u ascends, and so does t.
#pragma once

#include "reference/contract.h"

namespace klab {

struct SamplePdf {
  static constexpr std::string_view name = "sample_pdf";
  static constexpr std::array dims = {"rays", "bins", "count"};
  static constexpr double floor = 1e-5;

  struct Shape {
    int64_t rays;
    int64_t bins;   // of a ray, at least 1
    int64_t count;  // samples of a ray
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* edges;    // [rays,bins+1] f32, ascending
    const T* weights;  // [rays,bins] f32, >= 0
    const T* jitter;   // [rays,count] f32 in [0,1)
    T* t;              // [rays,count] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("edges", args.edges, Role::input, Draw::arranged, {s.rays, s.bins + 1});
    visit("weights", args.weights, Role::input, Draw::arranged, {s.rays, s.bins});
    visit("jitter", args.jitter, Role::input, Draw::unit, {s.rays, s.count});
    visit("t", args.t, Role::output, Draw::real, {s.rays, s.count});
  }

  static bool valid(const Shape& s) { return s.rays >= 0 && s.bins >= 1 && s.bins <= 4096 && s.count >= 0; }

  /// Edges, weights and jitter in, samples out. A bin takes two sums, a sample some seven operations and a quotient by its bin's
  /// probability.
  static Cost cost(const Shape& s) {
    const auto rays = double(s.rays), bins = double(s.bins), count = double(s.count);
    return {.bytes = 4 * rays * (2 * bins + 1 + 2 * count),
            .flops = rays * (2 * bins + 7 * count),
            .divisions = rays * count};
  }

  /// Factor in the bound of sample_pdf.cpp.
  static double terms(const Shape&) { return 4; }

  /// Draws weights of a few surfaces, with next to nothing in between; drawn widely, any weights, also all
  /// zero.
  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
