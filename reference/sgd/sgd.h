// Contract of sgd: stochastic gradient descent.
//
//   g = gradient + decay·param        param -= rate·g
//
// (Robbins and Monro, "A stochastic approximation method", 1951.) `decay` is the factor of an L2 penalty decay/2·|param|²: a
// step shrinks param by (1 − rate·decay) before the gradient acts.
#pragma once

#include "reference/sgd/optimizer_step.h"

namespace klab {

struct Sgd {
  static constexpr std::string_view name = "sgd";
  static constexpr std::array dims = {"n", "tensors"};

  using Shape = optimizer::Shape;

  template <class T>
  struct Args {
    Shape shape;
    const T* hyper;     // [tensors,5] f32: rate, beta1, beta2, epsilon, decay of each tensor
    const T* gradient;  // [n] f32
    T* param;           // [n] f32, read and written
  };

  static void tensors(auto& args, auto&& visit) {
    const int64_t n = args.shape.n, tensors = args.shape.tensors;
    visit("hyper", args.hyper, Role::input, Draw::arranged, {tensors, optimizer::kHypers});
    visit("gradient", args.gradient, Role::input, Draw::real, {n});
    visit("param", args.param, Role::accumulate, Draw::real, {n});
  }

  static bool valid(const Shape& s) { return optimizer::valid(s.n, s.tensors); }

  /// Gradients read; parameters read and written. Work per tensor is not counted.
  static Cost cost(const Shape& s) {
    const double n = double(s.n);
    return {.bytes = 12 * n + 20 * double(s.tensors), .flops = 4 * n};
  }

  /// Coefficient of u in the bound of reference/sgd/optimizer_step.cpp.
  static double terms(const Shape&) { return optimizer::kTerms; }

  static void arrange(const Args<float>& x, Generator& random);
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
