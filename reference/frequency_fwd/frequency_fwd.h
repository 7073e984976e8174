// Contract of frequency_fwd: each coordinate as sines and cosines of doubling frequencies.
//
//   row (c·octaves + k)·2     sin(2^k·pi·x_c)
//   row (c·octaves + k)·2 + 1 cos(2^k·pi·x_c)          k = 0 .. octaves-1, c = 0 .. dim-1
//
// (Mildenhall et al., "NeRF", 2020, equation 4.) 2^k·x modulo 2 is exact in float: no octave may lose accuracy.
#pragma once

#include "reference/contract.h"

namespace klab {

struct FrequencyFwd {
  static constexpr std::string_view name = "frequency_fwd";
  static constexpr std::array dims = {"n", "dim", "octaves"};

  struct Shape {
    int64_t n, dim, octaves;  // octaves up to 16
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* positions;  // [dim,n] f32
    T* features;         // [dim*octaves*2,n] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const auto [n, dim, octaves] = args.shape;
    visit("positions", args.positions, Role::input, Draw::real, {dim, n});
    visit("features", args.features, Role::output, Draw::real, {dim * octaves * 2, n});
  }

  static bool valid(const Shape& s) { return s.n >= 0 && s.dim >= 1 && s.octaves >= 1 && s.octaves <= 16; }

  /// 4 bytes in a coordinate and 8 out an octave. A sine with its cosine counts as 24 operations, and as one
  /// transcendental.
  static Cost cost(const Shape& s) {
    const double values = double(s.n) * double(s.dim);
    return {.bytes = values * (4 + 8 * double(s.octaves)),
            .flops = 24 * values * double(s.octaves),
            .transcendentals = values * double(s.octaves)};
  }

  /// pi·r in float for |r| <= 1 errs by 2u·pi, sine and cosine by 1 ulp = 2u at most.
  static double terms(const Shape&) { return 9; }

  /// magnitude = 1, the size of a sine.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
