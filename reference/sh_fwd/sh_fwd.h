// Contract of sh_fwd: real spherical harmonics of directions, band by band.
//
// Bands 0 to degree-1, band l with its functions m = -l..l, so degree^2 outputs: 16 at degree 4. They are the
// polynomials of x, y, z in the table below (Sloan, "Efficient spherical harmonic evaluation", JCGT 2013,
// appendix; in the order and with the signs of tiny-cuda-nn). On the unit sphere they are orthonormal. A
// vector of another length is not normalized first: the polynomials and their derivatives are evaluated
// unchanged.
#pragma once

#include "reference/contract.h"

namespace klab {

struct ShFwd {
  static constexpr std::string_view name = "sh_fwd";
  static constexpr std::array dims = {"n", "degree"};

  struct Shape {
    int64_t n, degree;  // degree 1 to 4
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* directions;  // [3,n] f32: all x, all y, all z
    T* basis;             // [degree^2,n] f32, written (=)
  };

  /// One term of one function: factor·x^px·y^py·z^pz.
  struct Term {
    int output;
    double factor;
    int px, py, pz;
  };
  static const std::vector<Term>& terms_of_basis();

  static void tensors(auto& args, auto&& visit) {
    const auto [n, degree] = args.shape;
    visit("directions", args.directions, Role::input, Draw::real, {3, n});
    visit("basis", args.basis, Role::output, Draw::real, {degree * degree, n});
  }

  static bool valid(const Shape& s) { return s.n >= 0 && s.degree >= 1 && s.degree <= 4; }

  /// 12 bytes in, 4 a function out. At degree 4, with common products taken once: 38 operations.
  static Cost cost(const Shape& s) {
    constexpr double flops[] = {0, 0, 3, 15, 38};
    return {double(s.n) * (12 + 4 * double(s.degree * s.degree)), double(s.n) * flops[s.degree]};
  }

  /// At most two terms of at most four factors, one of them rounded to float: 2·4 roundings on the way to a
  /// sum.
  static double terms(const Shape&) { return 8; }

  /// magnitude = sum of the absolute terms.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
