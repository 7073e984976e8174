// Contract of mlp_int8_fwd: a small fully connected network whose products are of bytes.
//
// Weights are those of mlp_narrow_fwd in format int8. The inputs h of a layer, samples and hidden activations alike, become bytes,
// too, with a scale for each sample:
//
//   a = max_c |h[c]|,  q[c] = round(127 h[c] / a)        to nearest, ties to even; all 0 where a is not above 2^-64
//   z[r] = (Σ_c bytes[l; r, c] q[c]) · (a / 127) · factors[l; r]        the sum exact, an integer
//
// with a ReLU behind each hidden layer (S. Wu et al. call this dynamic quantization by token, "ZeroQuant", 2022). A layer's inputs are
// below 2^17, so that no sum leaves 32 bits. mlp_narrow_fwd is the same network without the rounding of its inputs.
#pragma once

#include "reference/contract.h"
#include "reference/mlp_fwd/mlp_fwd.h"
#include "reference/narrow_numbers.h"

namespace klab {

struct MlpInt8Fwd {
  static constexpr std::string_view name = "mlp_int8_fwd";
  static constexpr std::array dims = {"n", "in", "width", "hidden", "out", "logistic"};
  static constexpr float kLeast = 0x1p-64F;  // a sample that is not larger counts as zero

  using Shape = MlpFwd::Shape;

  template <class T>
  struct Args {
    Shape shape;
    const T* x;           // [in,n] f32, input
    const int8_t* bytes;  // W_0 [width,in], (hidden-1) x [width,width], [out,width]
    const T* factors;     // [hidden*width + out] f32, input, above 0: row by row
    T* y;                 // [out,n] f32, written (=)
  };

  static int64_t factors(const Shape& s) { return s.hidden * s.width + s.out; }

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    visit("x", args.x, Role::input, Draw::real, {s.in, s.n});
    visit("bytes", args.bytes, Role::input, Draw::arranged, {s.weights()});
    visit("factors", args.factors, Role::input, Draw::arranged, {factors(s)});
    visit("y", args.y, Role::output, Draw::real, {s.out, s.n});
  }

  static bool valid(const Shape& s) {
    return MlpFwd::valid(s) && s.in < (int64_t{1} << 17) && s.width < (int64_t{1} << 17);
  }

  /// As of mlp_fwd, with a byte a weight, four products in the time of one, and a division for the scale of each layer's inputs.
  static Cost cost(const Shape& s) {
    Cost cost = MlpFwd::cost(s);
    cost.bytes += 4 * double(factors(s)) - 3 * double(s.weights());
    cost.flops_per_lane = 4;
    cost.divisions += double(s.n * s.layers());
    return cost;
  }

  /// Sums are exact: a conversion, three products with scales, and the roundings of the logistic function.
  static double terms(const Shape&) { return 10; }

  static void arrange(const Args<float>& x, Generator& random);

  /// Computes values and error bound; the derivation is next to the code.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
