#include "reference/softmax_xent_bwd/softmax_xent_bwd.h"

#include "reference/generator.h"
#include "reference/softmax_xent_fwd/row.h"

namespace klab {

void SoftmaxXentBwd::arrange(const Args<float>& x, Generator& random) {
  SoftmaxXentFwd::arrange({x.shape, x.logits, x.labels, nullptr}, random);
}

// In the words of softmax_xent_fwd.cpp, p_j' = p_j (1 + d) with
//
//   |d| <= u (c + 2k + A + |t_j|) + u log s,
//
// the last for variants that take exp((x_j - m) - log s) in place of a division. The gradient adds two
// roundings of its own, relative to g p_j, and for the label's class three more of g. Terms with only a few
// roundings are again divided by sqrt T. Below 2^-126 an exponential may stop where it is, at up to exp(-87)
// = 1.5·2^-126: as growth is at least 20 (T >= 25), 2^-105 in the magnitude makes room for 2.5·2^-126.
void SoftmaxXentBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const auto [n, c] = x.shape;
  const double few = 1 / std::sqrt(terms(x.shape));
  SoftmaxXentFwd::reference({x.shape, x.logits, x.labels, x.loss},
                            {x.shape, nullptr, nullptr, magnitude.loss});
  for (int64_t i = 0; i < n; ++i) {
    const double* logits = x.logits + i * c;
    const double g = x.d_loss[i];
    double *d = x.d_logits + i * c, *size = magnitude.d_logits + i * c;
    const softmax_xent::Row row(logits, c);
    for (int64_t j = 0; j < c; ++j) {
      const double p = row.probability(logits[j]), own = j == x.labels[i] ? 1 : 0;
      // Where p vanishes, so does the product with an argument that may be as large as floats are.
      const double arguments = row.argument + std::log(row.sum) + (p > 0 ? row.largest - logits[j] : 0);
      d[j] = g * (p - own);
      size[j] = std::abs(g) * (p * (1 + arguments * few) + own * few + 0x1p-105);
    }
  }
}

}  // namespace klab
