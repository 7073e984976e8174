// Where softmax_xent_bwd turns: equal largest logits, exponentials that vanish, labels at either end.
#include <algorithm>

#include "reference/boundaries.h"
#include "reference/softmax_xent_bwd/softmax_xent_bwd.h"

namespace klab {
namespace {

using Args = SoftmaxXentBwd::Args<double>;
using Drawn = SoftmaxXentBwd::Args<float>;

const Boundary<SoftmaxXentBwd> kLargest(
    "several logits are largest", {"logits"}, {}, kEither,
    [](const Args& a, Sides& met) {
      for (int64_t i = 0; i < a.shape.n; ++i) {
        const double *from = a.logits + i * a.shape.c, *to = from + a.shape.c;
        met.holds(std::count(from, to, *std::max_element(from, to)) > 1);
      }
    },
    [](const Drawn& x, Generator& random) {
      for (int64_t i = 0; i < x.shape.n; ++i) {
        const float* row = x.logits + i * x.shape.c;
        drawn(row[random() % uint64_t(x.shape.c)]) = *std::max_element(row, row + x.shape.c);
      }
    });
const Boundary<SoftmaxXentBwd> kUnderflow("exponential vanishes in float", {"logits"}, {}, kEither,
                                          [](const Args& a, Sides& met) {
                                            for (int64_t i = 0; i < a.shape.n; ++i) {
                                              const double *from = a.logits + i * a.shape.c,
                                                           *to = from + a.shape.c,
                                                           largest = *std::max_element(from, to);
                                              for (const double* x = from; x < to; ++x)
                                                met.holds(*x - largest < -104);
                                            }
                                          });
const Boundary<SoftmaxXentBwd> kLabel("label has the largest logit", {"labels", "logits"}, {}, kEither,
                                      [](const Args& a, Sides& met) {
                                        for (int64_t i = 0; i < a.shape.n; ++i) {
                                          const double* row = a.logits + i * a.shape.c;
                                          met.holds(row[a.labels[i]] ==
                                                    *std::max_element(row, row + a.shape.c));
                                        }
                                      });
const Boundary<SoftmaxXentBwd> kFirst("label", {"labels"}, {"j == x.labels[i] ?"}, kOn | kAbove,
                                      [](const Args& a, Sides& met) {
                                        for (int64_t i = 0; i < a.shape.n; ++i) met.compare(a.labels[i], 0);
                                      });
const Boundary<SoftmaxXentBwd> kLast("label and the last class", {"labels", "c"}, {}, kBelow | kOn,
                                     [](const Args& a, Sides& met) {
                                       for (int64_t i = 0; i < a.shape.n; ++i)
                                         met.compare(int64_t{a.labels[i]}, a.shape.c - 1);
                                     });
const NoBoundary<SoftmaxXentBwd> kRest({{"p > 0 ?", "a bound of rounding errors, which no kernel computes"}});

}  // namespace
}  // namespace klab
