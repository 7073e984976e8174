// Where the steps of optimizers turn, all of them: tensors without decay or parameters, the first step.
#pragma once

#include <utility>

#include "reference/boundaries.h"
#include "reference/sgd/optimizer_step.h"

namespace klab::optimizer {

/// Boundaries of every contract of the family. `code`: of its reference, where a tensor begins.
template <class Op>
struct FamilyBoundaries {
  using Args = typename Op::template Args<double>;

  explicit FamilyBoundaries(std::vector<std::string> code = {})
      : decay("no decay", {"hyper"}, {}, kOn | kAbove,
              [](const Args& a, Sides& met) {
                for (int64_t t = 0; t < a.shape.tensors; ++t)
                  met.compare(a.hyper[t * kHypers + optimizer::decay], 0);
              }),
        empty("tensor without parameters", {"n", "tensors"}, std::move(code), kEither,
              [](const Args& a, Sides& met) {
                for (int64_t t = 0; t < a.shape.tensors; ++t)
                  met.holds(begin_of(a.shape.n, a.shape.tensors, t) ==
                            begin_of(a.shape.n, a.shape.tensors, t + 1));
              }) {}

  Boundary<Op> decay, empty;
};

/// The boundary of those that count their steps.
template <class Op>
struct FirstStep {
  Boundary<Op> first{
      "first step", {"steps"}, {}, kOn | kAbove, [](const typename Op::template Args<double>& a, Sides& met) {
        for (int64_t t = 0; t < a.shape.tensors; ++t) met.compare(a.steps[t], 0);
      }};
};

}  // namespace klab::optimizer
