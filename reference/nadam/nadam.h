// Contract of nadam: Adam that looks ahead.
//
//   g = gradient + decay·param        m = beta1·m + (1−beta1)·g        v = beta2·v + (1−beta2)·g²
//   ahead = beta1·m/(1−beta1^(step+1)) + (1−beta1)·g/(1−beta1^step)
//   param -= rate·ahead/(sqrt(v/(1−beta2^step)) + epsilon)
//
// (Dozat, "Incorporating Nesterov momentum into Adam", 2016, with one beta1 for all steps.) A tensor's step count is raised
// first.
#pragma once

#include "reference/sgd/optimizer_step.h"

namespace klab {

struct Nadam : optimizer::Family {
  static constexpr std::string_view name = "nadam";
  static constexpr std::array dims = {"n", "tensors"};

  template <class T>
  struct Args {
    Shape shape;
    const T* hyper;     // [tensors,5] f32: rate, beta1, beta2, epsilon, decay of each tensor
    const T* gradient;  // [n] f32
    T* param;           // [n] f32, read and written
    T* m;               // [n] f32, read and written
    T* v;               // [n] f32, >= 0, read and written
    int32_t* steps;     // [tensors] i32, >= 0, read and written
  };

  /// Gradients read; parameters and moments read and written. Work per tensor is not counted.
  static Cost cost(const Shape& s) {
    const double n = double(s.n);
    return {.bytes = 28 * n + 28 * double(s.tensors), .flops = 18 * n, .divisions = n, .roots = n};
  }

  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
