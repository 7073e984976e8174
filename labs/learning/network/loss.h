// The loss of a classifier: cross-entropy of a softmax, value and gradient in one call; with labels, or with a teacher's outputs.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "labs/learning/network/module.h"
#include "reference/softmax_xent_bwd/softmax_xent_bwd.h"

namespace klab::learning {

class CrossEntropy {
 public:
  /// For batches of n examples with that many classes.
  CrossEntropy(int64_t n, int64_t classes)
      : n_(n), classes_(classes), d_loss_(n), loss_(n), d_logits_(n * classes) {
    std::fill_n(d_loss_.data(), n, 1.0F / float(n));
  }
  void calls(std::vector<PlannedCall>& list) const {
    list.push_back(planned<SoftmaxXentBwd>({n_, classes_}, fmt::format("{} rows of {}", n_, classes_)));
  }
  /// Returns the mean loss; the gradient of that mean is d_logits().
  double operator()(const Pass& pass, const float* logits, const int32_t* labels) {
    pass.profile.run<SoftmaxXentBwd>(
        "softmax_xent_bwd", pass.plan,
        {{n_, classes_}, logits, labels, d_loss_.data(), loss_.data(), d_logits_.data()});
    double sum = 0;
    for (const float l : loss_) sum += double(l);
    return sum / double(n_);
  }
  float* d_logits() { return d_logits_.data(); }
  int64_t size() const { return n_ * classes_; }  // of d_logits
  const float* losses() const { return loss_.data(); }

 private:
  int64_t n_, classes_;
  Array<float> d_loss_, loss_, d_logits_;
};

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
