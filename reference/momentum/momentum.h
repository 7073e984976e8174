// Contract of momentum: gradient descent along a running average of gradients.
//
//   g = gradient + decay·param        m = beta1·m + (1−beta1)·g        param -= rate·m/(1−beta1^step)
//
// (Polyak, "Some methods of speeding up the convergence of iteration methods", 1964, with the average weighted to sum to one.)
// m begins at zero, so the average of the first steps is too small by 1−beta1^step: corrected = 1 divides by that, 0 does not.
// A tensor's step count is raised first.
#pragma once

#include "reference/sgd/optimizer_step.h"

namespace klab {

struct Momentum : optimizer::Family {
  static constexpr std::string_view name = "momentum";
  static constexpr std::array dims = {"n", "tensors", "corrected"};

  struct Shape {
    int64_t n, tensors;
    int64_t corrected;  // 1: the average is divided by the sum of its weights
  };

  template <class T>
  struct Args {
    Shape shape;
    const T* hyper;     // [tensors,5] f32: rate, beta1, beta2, epsilon, decay of each tensor
    const T* gradient;  // [n] f32
    T* param;           // [n] f32, read and written
    T* m;               // [n] f32, read and written
    int32_t* steps;     // [tensors] i32, >= 0, read and written
  };

  static bool valid(const Shape& s) { return Family::valid(s) && (s.corrected == 0 || s.corrected == 1); }

  /// Gradients read; parameters and moments read and written. Work per tensor is not counted.
  static Cost cost(const Shape& s) {
    const double n = double(s.n);
    return {.bytes = 20 * n + 28 * double(s.tensors), .flops = 7 * n};
  }

  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
