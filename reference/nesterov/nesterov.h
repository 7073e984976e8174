// Contract of nesterov: momentum that looks ahead.
//
//   g = gradient + decay·param        m = beta1·m + (1−beta1)·g        param -= rate·(beta1·m + (1−beta1)·g)
//
// (Nesterov 1983; in this form Sutskever, Martens, Dahl and Hinton, "On the importance of initialization and momentum in deep
// learning", 2013.) The step is where the average will be when the next gradient is the same as this one.
#pragma once

#include "reference/sgd/optimizer_step.h"

namespace klab {

struct Nesterov : optimizer::Family {
  static constexpr std::string_view name = "nesterov";
  static constexpr std::array dims = {"n", "tensors"};

  template <class T>
  struct Args {
    Shape shape;
    const T* hyper;     // [tensors,5] f32: rate, beta1, beta2, epsilon, decay of each tensor
    const T* gradient;  // [n] f32
    T* param;           // [n] f32, read and written
    T* m;               // [n] f32, read and written
  };

  /// Gradients read; parameters and moments read and written. Work per tensor is not counted.
  static Cost cost(const Shape& s) {
    const double n = double(s.n);
    return {.bytes = 20 * n + 20 * double(s.tensors), .flops = 10 * n};
  }

  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
