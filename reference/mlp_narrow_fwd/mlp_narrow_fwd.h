// Contract of mlp_narrow_fwd: a small fully connected network whose weights are stored in few bits.
//
// As mlp_fwd, whose layout it has, but the weights stay in 16 or 8 bits in memory (narrow_numbers.h):
//
//   W_l[r, c] = halves[l; r, c]                     formats f16 and bf16
//   W_l[r, c] = bytes[l; r, c] * factors[l; r]      format int8: a factor for each row, which is one output of a layer
//
// Samples and sums are floats. A variant may round factors of its products to a shorter format; it declares that.
#pragma once

#include "reference/contract.h"
#include "reference/mlp_fwd/mlp_fwd.h"
#include "reference/narrow_numbers.h"

namespace klab {

struct MlpNarrowFwd {
  static constexpr std::string_view name = "mlp_narrow_fwd";
  static constexpr std::array dims = {"n", "in", "width", "hidden", "out", "logistic", "format"};

  struct Shape {
    int64_t n;         // samples
    int64_t in;        // channels of a sample
    int64_t width;     // units of every hidden layer
    int64_t hidden;    // number of hidden layers, 1 or more; each ends in a ReLU
    int64_t out;       // outputs of a sample
    int64_t logistic;  // 1: the outputs pass through 1/(1 + exp(-z)); 0: they do not
    int64_t format;    // narrow_format
    MlpFwd::Shape network() const { return {n, in, width, hidden, out, logistic}; }
    int64_t weights() const { return network().weights(); }
    int64_t factors() const { return in_bytes(format, hidden * width + out); }
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* x;  // [in,n] f32, input
    const uint16_t*
        halves;  // bits of W_0 [width,in], (hidden-1) x [width,width], [out,width]; empty in format int8
    const int8_t* bytes;  // the same; empty in the others
    const T* factors;     // [hidden*width + out] f32, input, above 0: row by row; empty like `bytes`
    T* y;                 // [out,n] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("x", args.x, Role::input, Draw::real, {s.in, s.n});
    visit("halves", args.halves, Role::input, Draw::arranged, {in_halves(s.format, s.weights())});
    visit("bytes", args.bytes, Role::input, Draw::arranged, {in_bytes(s.format, s.weights())});
    visit("factors", args.factors, Role::input, Draw::arranged, {s.factors()});
    visit("y", args.y, Role::output, Draw::real, {s.out, s.n});
  }

  static bool valid(const Shape& s) { return MlpFwd::valid(s.network()) && is_narrow_format(s.format); }

  /// As of mlp_fwd, with weights of fewer bytes. A product with a row's factor is left out: it is one for all samples.
  static Cost cost(const Shape& s) {
    Cost cost = MlpFwd::cost(s.network());
    cost.bytes += double(narrow_bytes(s.format) - 4) * double(s.weights()) + 4 * double(s.factors());
    return cost;
  }

  /// As of mlp_fwd, and one rounding of a weight times its factor.
  static double terms(const Shape& s) { return MlpFwd::terms(s.network()) + 1; }

  static void arrange(const Args<float>& x, Generator& random);

  /// Computes values and error bound as mlp_fwd's does, on the weights' exact values.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

/// Writes the weights as floats, each rounded once: for variants that compute with floats.
inline void widen_weights(const MlpNarrowFwd::Args<float>& x, float* weights) {
  const MlpFwd::Shape net = x.shape.network();
  int64_t at = 0, row = 0;
  for (int64_t l = 0; l < net.layers(); ++l)
    for (int64_t r = 0; r < net.to(l); ++r, ++row)
      for (int64_t c = 0; c < net.from(l); ++c, ++at) {
        const float number = narrow_number(x.shape.format, x.halves, x.bytes, at);
        weights[at] = x.shape.format == narrow_format::int8 ? number * x.factors[row] : number;
      }
}

}  // namespace klab
