// Contract of activation_fwd: one of six functions of each element.
//
//   kind 0  relu      max(x, 0)                3  gelu      x·(1 + erf(x/sqrt 2))/2
//   kind 1  sigmoid   1/(1 + e^-x)             4  swish     x/(1 + e^-x)
//   kind 2  tanh                               5  softplus  log(1 + e^x)
#pragma once

#include "reference/activation_fwd/activation.h"
#include "reference/contract.h"

namespace klab {

struct ActivationFwd {
  static constexpr std::string_view name = "activation_fwd";
  static constexpr std::array dims = {"n", "kind"};

  struct Shape {
    int64_t n;     // elements
    int64_t kind;  // activation::Kind
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* x;  // [n] f32
    T* y;        // [n] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const int64_t n = args.shape.n;
    visit("x", args.x, Role::input, Draw::real, {n});
    visit("y", args.y, Role::output, Draw::real, {n});
  }

  static bool valid(const Shape& s) { return s.n >= 0 && s.kind >= 0 && s.kind < activation::kKinds; }

  /// x read, y written.
  static Cost cost(const Shape& s) {
    const double n = double(s.n);
    return {.bytes = 8 * n,
            .flops = n * activation::flops(s.kind),
            .transcendentals = n * activation::transcendentals(s.kind),
            .divisions = n * activation::divisions(s.kind)};
  }

  /// Roundings of one value, an exponential's among them.
  static double terms(const Shape&) { return 16; }

  static void reference(const Args<double>& x, const Args<double>& magnitude) {
    for (int64_t i = 0; i < x.shape.n; ++i) {
      const auto [value, size] = activation::value(x.shape.kind, x.x[i]);
      x.y[i] = value;
      magnitude.y[i] = size;
    }
  }
};

}  // namespace klab
