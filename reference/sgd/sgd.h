// Contract of sgd: stochastic gradient descent.
//
//   g = gradient + decay·param        param -= rate·g
//
// (Robbins and Monro, "A stochastic approximation method", 1951.) `decay` is the factor of an L2 penalty decay/2·|param|²: a
// step shrinks param by (1 − rate·decay) before the gradient acts.
#pragma once

#include "reference/sgd/optimizer_step.h"

namespace klab {

struct Sgd : optimizer::Family {
  static constexpr std::string_view name = "sgd";
  static constexpr std::array dims = {"n", "tensors"};

  template <class T>
  struct Args {
    Shape shape;
    const T* hyper;     // [tensors,5] f32: rate, beta1, beta2, epsilon, decay of each tensor
    const T* gradient;  // [n] f32
    T* param;           // [n] f32, read and written
  };

  /// Gradients read; parameters read and written. Work per tensor is not counted.
  static Cost cost(const Shape& s) {
    const double n = double(s.n);
    return {.bytes = 12 * n + 20 * double(s.tensors), .flops = 4 * n};
  }

  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
