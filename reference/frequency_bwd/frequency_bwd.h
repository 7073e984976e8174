// Contract of frequency_bwd: gradient of the frequency encoding with respect to the positions.
//
//   d_x = sum_k 2^k·pi·(d_sin·cos(2^k·pi·x) - d_cos·sin(2^k·pi·x))
#pragma once

#include "reference/frequency_fwd/frequency_fwd.h"

namespace klab {

struct FrequencyBwd {
  static constexpr std::string_view name = "frequency_bwd";
  static constexpr std::array dims = {"n", "dim", "octaves"};
  using Forward = FrequencyFwd;
  using Shape = FrequencyFwd::Shape;

  template <class T>
  struct Args {
    Shape shape;
    const T* positions;   // [dim,n] f32
    const T* d_features;  // [dim*octaves*2,n] f32
    T* d_positions;       // [dim,n] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const auto [n, dim, octaves] = args.shape;
    visit("positions", args.positions, Role::input, Draw::real, {dim, n});
    visit("d_features", args.d_features, Role::input, Draw::real, {dim * octaves * 2, n});
    visit("d_positions", args.d_positions, Role::output, Draw::real, {dim, n});
  }

  static bool valid(const Shape& s) { return FrequencyFwd::valid(s); }

  /// 4 bytes in and 4 out a coordinate, 8 in an octave; the sine with its cosine, which is one transcendental, and
  /// five operations an octave.
  static Cost cost(const Shape& s) {
    const double values = double(s.n) * double(s.dim);
    return {.bytes = values * (8 + 8 * double(s.octaves)),
            .flops = 29 * values * double(s.octaves),
            .transcendentals = values * double(s.octaves)};
  }

  /// Sine and cosine err by 9u (frequency_fwd), products by 3u, a sum of 2·octaves terms by one u each.
  static double terms(const Shape& s) { return 12 + 2 * double(s.octaves); }

  /// magnitude = sum_k 2^k·pi·(|d_sin| + |d_cos|).
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
