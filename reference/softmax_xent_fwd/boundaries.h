// Boundaries of softmax_xent_fwd and softmax_xent_bwd: equal largest logits, exponentials that vanish, labels at either end.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "reference/boundaries.h"
#include "reference/softmax_xent_fwd/softmax_xent_fwd.h"

namespace klab {

/// Code of a reference that decides each boundary, where it compares something there.
struct SoftmaxCode {
  std::vector<std::string> largest, underflow, first;
};

/// States them for one of both.
template <class Contract>
struct SoftmaxBoundaries {
  using Args = typename Contract::template Args<double>;
  using Drawn = typename Contract::template Args<float>;
  explicit SoftmaxBoundaries(const SoftmaxCode& code) {
    Boundary<Contract>(
        "several logits are largest", {"logits"}, code.largest, kEither,
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
    Boundary<Contract>("exponential vanishes in float", {"logits"}, code.underflow, kEither,
                       [](const Args& a, Sides& met) {
                         for (int64_t i = 0; i < a.shape.n; ++i) {
                           const double *from = a.logits + i * a.shape.c, *to = from + a.shape.c,
                                        largest = *std::max_element(from, to);
                           for (const double* x = from; x < to; ++x) met.holds(*x - largest < -104);
                         }
                       });
    Boundary<Contract>("label has the largest logit", {"labels", "logits"}, {}, kEither,
                       [](const Args& a, Sides& met) {
                         for (int64_t i = 0; i < a.shape.n; ++i) {
                           const double* row = a.logits + i * a.shape.c;
                           met.holds(row[a.labels[i]] == *std::max_element(row, row + a.shape.c));
                         }
                       });
    Boundary<Contract>("label", {"labels"}, code.first, kOn | kAbove, [](const Args& a, Sides& met) {
      for (int64_t i = 0; i < a.shape.n; ++i) met.compare(a.labels[i], 0);
    });
    Boundary<Contract>("label and the last class", {"labels", "c"}, {}, kBelow | kOn,
                       [](const Args& a, Sides& met) {
                         for (int64_t i = 0; i < a.shape.n; ++i)
                           met.compare(int64_t{a.labels[i]}, a.shape.c - 1);
                       });
  }
};

}  // namespace klab
