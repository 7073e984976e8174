#include "reference/softmax_xent_fwd/softmax_xent_fwd.h"

#include <cmath>
#include <utility>

#include "reference/generator.h"
#include "reference/softmax_xent_fwd/row.h"

namespace klab {
namespace {

// Labels at either end of a row as often as between; one logit above the others by 16 to 87, where their exponentials
// fade away, or by more, where they are none; rows that all lie far from zero.
void draw_widely(const SoftmaxXentFwd::Args<float>& x, Generator& random) {
  using Uniform = std::uniform_real_distribution<double>;
  auto* labels = const_cast<int32_t*>(x.labels);
  const int64_t c = x.shape.c;
  for (int64_t i = 0; i < x.shape.n; ++i) {
    float* row = const_cast<float*>(x.logits) + i * c;
    const auto somewhere = [&] {
      const uint64_t where = random() % 4;
      return where == 0 ? 0 : where == 1 ? c - 1 : int64_t(random() % uint64_t(c));
    };
    labels[i] = int32_t(somewhere());
    // The first of long rows has its largest logit far from where a loop over some of them ends.
    const bool decided = i == 0 && c > 4096;
    const uint64_t kind = decided ? 3 : random() % 8;
    const double gap = kind < 3 ? Uniform(16, 88)(random) : kind == 3 ? Uniform(88, 2000)(random) : 0;
    const double far = random() % 4 == 0 ? Uniform(-300, 300)(random) : 0;
    for (int64_t j = 0; j < c; ++j) row[j] = float(far + std::remainder(row[j], 8.0));
    row[decided ? c / 2 + int64_t(random() % uint64_t(c - c / 2)) : somewhere()] += float(gap);
  }
}

}  // namespace

void SoftmaxXentFwd::arrange(const Args<float>& x, Generator& random) {
  if (random.widely) return draw_widely(x, random);
  auto* labels = const_cast<int32_t*>(x.labels);  // arrange() owns the inputs
  auto* logits = const_cast<float*>(x.logits);
  const int64_t c = x.shape.c;
  for (int64_t i = 0; i < x.shape.n; ++i) {
    labels[i] = int32_t(random() % uint64_t(c));
    // One row in four is a single logit above many that are nearly equal: an exponential that is wrong at some arguments
    // only has no right ones to hide behind. Not quite equal, or the roundings of their sum would all lean one way.
    float* row = logits + i * c;
    if (random() % 4 != 0 || !(std::abs(row[0]) < 100)) continue;
    // The longer the row, the farther apart its logits, since many like roundings would still lean one way,
    // and the smaller an exponential may be that still counts in the sum.
    const float apart = c > 4096 ? 1e-3F : 1e-5F;
    float gap = float(random() % (c > 4096 ? 24576 : 4096)) / 1024;
    // Between exponentials that are many units in the last place of the largest one and those that do not matter even all
    // together lie those that a sum in single precision loses one by one: no bound for roundings that do not lean holds there.
    if (gap > 13) gap += std::log(float(c)) - 1;
    const float below = row[0] - gap;
    for (int64_t j = 1; j < c; ++j) row[j] = below - float(random() % 1024) * apart;
    std::swap(row[0], row[random() % uint64_t(c)]);
  }
}

// The bound, with T = terms(shape) and to first order in u. A variant holds
//
//   t_j  = fl(x_j - m),  |error| <= u |t_j|                                  the argument
//   e_j' = e_j (1 + d),  |d| <= u (k + |t_j|),  k <= 8                       an exponential near it
//   s'   = s (1 + d),    |d| <= u (c + k + A),  A = sum of p_j |t_j|         c - 1 additions
//
// where an exponential may grow another |t_j| in error when the argument is scaled in float, as fast
// exponentials do: A and |t_j| are given room for four roundings. A running maximum scales partial sums by
// exp(m_old - m_new); the arguments of these factors add up to at most |t_j|, so they are in the same place.
// Then loss' = log s' + (m - x_label) errs by
//
//   u (c + k + A) + 3u log s + 2u (m - x_label),
//
// the logarithm itself taken as right to 2u. Growth of T roundings is at least min(T, 4 sqrt T), which is at
// least 4 sqrt T for T >= 16: terms with up to four roundings, and not T, are divided by sqrt T. So
//
//   magnitude = 1 + (A + log s + m - x_label) / sqrt T.
void SoftmaxXentFwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const auto [n, c] = x.shape;
  const double few = 1 / std::sqrt(terms(x.shape));
  for (int64_t i = 0; i < n; ++i) {
    const double* logits = x.logits + i * c;
    const softmax_xent::Row row(logits, c);
    const double label = logits[x.labels[i]];
    x.loss[i] = row.loss(label);
    magnitude.loss[i] = 1 + (row.argument + std::log(row.sum) + (row.largest - label)) * few;
  }
}

}  // namespace klab
