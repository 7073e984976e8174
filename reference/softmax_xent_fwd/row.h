// One row of logits for forward and backward, in double precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace klab::softmax_xent {

struct Row {
  double largest = 0;   // m
  double sum = 0;       // of e_j = exp(x_j - m), between 1 and c
  double argument = 0;  // mean of |x_j - m| over the probabilities: by how much one roundoff of the arguments
                        // changes the sum, relatively

  Row(const double* x, int64_t c) : largest(*std::max_element(x, x + c)) {
    double weighted = 0;
    for (int64_t j = 0; j < c; ++j) {
      const double e = std::exp(x[j] - largest);
      sum += e;
      if (e > 0) weighted += e * (largest - x[j]);
    }
    argument = weighted / sum;
  }

  double probability(double x) const { return std::exp(x - largest) / sum; }
  double loss(double x_label) const { return std::log(sum) + (largest - x_label); }
};

}  // namespace klab::softmax_xent
