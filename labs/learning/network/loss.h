// The loss of a student: cross-entropy of its softmax with a teacher's, value and gradient.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace klab::learning {

/// Computes the cross-entropy of a student's softmax with its teacher's as its target, for n rows of outputs [n,classes] of each,
/// both divided by a number T that makes them softer, times T² so that its gradients are as large at any T (G. Hinton, O. Vinyals, J. Dean,
/// "Distilling the Knowledge in a Neural Network", 2015). Returns the mean and writes its gradient to d_student.
inline double soft_cross_entropy(int64_t n, int64_t classes, const float* student, const float* teacher,
                                 double softening, float* d_student) {
  const auto logarithm_of_sum = [&](const float* row) {
    const double largest = double(*std::max_element(row, row + classes)) / softening;
    double sum = 0;
    for (int64_t k = 0; k < classes; ++k) sum += std::exp(double(row[k]) / softening - largest);
    return largest + std::log(sum);
  };
  double loss = 0;
  for (int64_t i = 0; i < n; ++i) {
    const float *s = student + i * classes, *t = teacher + i * classes;
    const double of_student = logarithm_of_sum(s), of_teacher = logarithm_of_sum(t);
    for (int64_t k = 0; k < classes; ++k) {
      const double wanted = std::exp(double(t[k]) / softening - of_teacher);
      const double logarithm = double(s[k]) / softening - of_student;
      loss -= softening * softening * wanted * logarithm / double(n);
      d_student[i * classes + k] = float(softening * (std::exp(logarithm) - wanted) / double(n));
    }
  }
  return loss;
}

}  // namespace klab::learning
