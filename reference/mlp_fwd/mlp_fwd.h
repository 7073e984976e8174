// Contract of mlp_fwd: a small fully connected network, y = s(W_L relu(W_{L-1} ... relu(W_0 x))), without
// biases.
//
// Samples lie feature-major: row c of x holds channel c of all n samples.
#pragma once

#include "reference/contract.h"

namespace klab {

struct MlpFwd {
  static constexpr std::string_view name = "mlp_fwd";
  static constexpr std::array dims = {"n", "in", "width", "hidden", "out", "logistic"};

  struct Shape {
    int64_t n;         // samples
    int64_t in;        // channels of a sample
    int64_t width;     // units of every hidden layer
    int64_t hidden;    // number of hidden layers, 1 or more; each ends in a ReLU
    int64_t out;       // outputs of a sample
    int64_t logistic;  // 1: the outputs pass through 1/(1 + exp(-z)); 0: they do not

    int64_t layers() const { return hidden + 1; }
    int64_t from(int64_t layer) const { return layer == 0 ? in : width; }
    int64_t to(int64_t layer) const { return layer == hidden ? out : width; }
    /// Where a layer's matrix [to][from] begins in `weights`; weight_begin(layers()) is their number.
    int64_t weight_begin(int64_t layer) const {
      if (layer == 0) return 0;
      const int64_t square = (layer < layers() ? layer : hidden) - 1;
      return width * in + square * width * width + (layer == layers() ? out * width : 0);
    }
    int64_t weights() const { return weight_begin(layers()); }
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* x;  // [in,n] f32, input
    const T*
        weights;  // W_0 [width,in], (hidden-1) x [width,width], [out,width], each row-major [to][from]; input
    T* y;         // [out,n] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("x", args.x, Role::input, Draw::real, {s.in, s.n});
    visit("weights", args.weights, Role::input, Draw::real, {s.weights()});
    visit("y", args.y, Role::output, Draw::real, {s.out, s.n});
  }

  static bool valid(const Shape& s) {
    return s.n >= 0 && s.in >= 1 && s.width >= 1 && s.hidden >= 1 && s.hidden <= 16 && s.out >= 1 &&
           (s.logistic == 0 || s.logistic == 1);
  }

  /// x and the weights read once, y written once; two operations per weight and sample. Comparisons with zero
  /// are left out. The logistic function is one exponential and one division an output.
  static Cost cost(const Shape& s) {
    const double n = double(s.n), weights = double(s.weights()), curves = n * double(s.out * s.logistic);
    return {.bytes = 4 * (n * double(s.in + s.out) + weights),
            .flops = 2 * weights * n,
            .transcendentals = curves,
            .divisions = curves};
  }

  /// The longest sum, and room for the roundings of the logistic function (see the reference).
  static double terms(const Shape& s) { return double(s.in > s.width ? s.in : s.width) + 6; }

  /// Scales each layer's weights by a power of two near 1/sqrt(from), as networks are initialized, so that
  /// deep shapes neither overflow nor saturate. Drawn numbers keep their digits.
  static void arrange(const Args<float>& x, Generator& random);

  /// Computes values and error bound; the derivation is next to the code.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
