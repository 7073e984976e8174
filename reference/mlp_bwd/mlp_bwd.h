// Contract of mlp_bwd: the gradients of mlp_fwd with respect to its inputs and its weights.
#pragma once

#include "reference/mlp_fwd/mlp_fwd.h"

namespace klab {

struct MlpBwd {
  using Forward = MlpFwd;
  using Shape = MlpFwd::Shape;
  static constexpr std::string_view name = "mlp_bwd";
  static constexpr std::array dims = MlpFwd::dims;

  template <class T>
  struct Args {
    Shape shape;
    const T* x;        // [in,n] f32, input
    const T* weights;  // as in mlp_fwd, input
    const T* d_y;      // [out,n] f32, input: gradient of the loss with respect to y (after the logistic)
    T* d_x;            // [in,n] f32, written (=)
    T* d_weights;      // as weights, accumulated (+=): sums over the samples
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("x", args.x, Role::input, Draw::real, {s.in, s.n});
    visit("weights", args.weights, Role::input, Draw::real, {s.weights()});
    visit("d_y", args.d_y, Role::input, Draw::real, {s.out, s.n});
    visit("d_x", args.d_x, Role::output, Draw::real, {s.in, s.n});
    visit("d_weights", args.d_weights, Role::accumulate, Draw::real, {s.weights()});
  }

  static bool valid(const Shape& s) { return MlpFwd::valid(s); }

  /// x, d_y and weights read, d_x written, d_weights read and written. Twice the forward's arithmetic: one
  /// product for the gradient of the weights, one for that of the inputs, in each layer. Computing the hidden
  /// activations again is a variant's choice and not counted. The derivative of the logistic function, y(1 -
  /// y), has an exponential and a division an output.
  static Cost cost(const Shape& s) {
    const double n = double(s.n), weights = double(s.weights()), curves = n * double(s.out * s.logistic);
    return {.bytes = 4 * (n * double(2 * s.in + s.out) + 3 * weights),
            .flops = 4 * weights * n,
            .transcendentals = curves,
            .divisions = curves};
  }

  /// Longest sum behind one unit's gradient, with room for the few roundings of the logistic's derivative.
  static double unit_terms(const Shape& s) {
    const int64_t units = s.in > s.width ? s.in : s.width;
    return double(units > s.out ? units : s.out) + 12;
  }

  /// The gradient of a weight sums over all samples.
  static double terms(const Shape& s) {
    const double samples = double(s.n) + 1;
    return samples > unit_terms(s) ? samples : unit_terms(s);
  }

  /// Keeps every hidden unit away from the kink of its ReLU, where the gradient is undefined and a rounding
  /// would change it. The method is described next to the code.
  static void arrange(const Args<float>& x, Generator& random);

  /// Computes values and error bound; the derivation is next to the code. At exactly zero the gradient of
  /// ReLU is taken as zero.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
