// The loss of a classifier: cross-entropy of a softmax, value and gradient in one call.
#pragma once

#include <fmt/format.h>

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

}  // namespace klab::learning
