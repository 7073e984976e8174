// Shared by the contracts of the optimizers' steps: sgd, momentum, nesterov, adamw, nadam.
//
// The n parameters of a network lie one after the other and belong to `tensors` tensors, each with its own
// hyperparameters and step count (a bias has no weight decay, a new layer counts from its own beginning).
// Tensor t is entries begin_of(t) to begin_of(t + 1): all as long as each other, to four entries, and begin
// at multiples of four.
#pragma once

#include <cmath>
#include <cstdint>

#include "reference/contract.h"

namespace klab::optimizer {

/// Order of a tensor's hyperparameters. Each optimizer reads those of its formula; betas are in [0.5,1).
enum Hyper : int { rate, beta1, beta2, epsilon, decay, kHypers };

struct Shape {
  int64_t n, tensors;  // parameters, tensors (at least 1; some may be empty)
};

inline int64_t begin_of(int64_t n, int64_t tensors, int64_t t) {
  return t >= tensors ? n : n / 4 * t / tensors * 4;
}

/// Rates around 1e-2 and decay in every second tensor; step counts from 0 to 2000, small ones more often (null: none). Widely:
/// any rates, betas from 0.5, epsilons and decays, and step counts to a million.
void arrange(int64_t tensors, float* hyper, int32_t* steps, Generator& random);

/// Every step's bound is a multiple of this times u, the unit roundoff. Derivation in optimizer_step.cpp.
inline constexpr double kTerms = 16;

/// What the contracts of these steps have in common. Args without m, v or steps are without that tensor.
struct Family {
  using Shape = optimizer::Shape;

  static void tensors(auto& args, auto&& visit) {
    const int64_t n = args.shape.n, tensors = args.shape.tensors;
    visit("hyper", args.hyper, Role::input, Draw::arranged, {tensors, kHypers});
    visit("gradient", args.gradient, Role::input, Draw::real, {n});
    visit("param", args.param, Role::accumulate, Draw::real, {n});
    if constexpr (requires { args.m; }) visit("m", args.m, Role::accumulate, Draw::real, {n});
    if constexpr (requires { args.v; }) visit("v", args.v, Role::accumulate, Draw::unit, {n});
    if constexpr (requires { args.steps; })
      visit("steps", args.steps, Role::accumulate, Draw::arranged, {tensors});
  }

  static bool valid(const auto& s) {
    return s.n >= 0 && s.n < int64_t{1} << 40 && s.tensors >= 1 && s.tensors < 1 << 20;
  }

  /// Coefficient of u in the bound.
  static double terms(const auto&) { return kTerms; }

  static void arrange(const auto& x, Generator& random) {
    int32_t* steps = nullptr;
    if constexpr (requires { x.steps; }) steps = x.steps;
    optimizer::arrange(x.shape.tensors, const_cast<float*>(x.hyper), steps, random);
  }
};

/// The denominator sqrt(v/correct2) + epsilon, and by how much more than a few u it may err, relative to V,
/// the sum in v's update.
struct Root {
  Root(double v, double V, double correct2, double epsilon) : denominator(std::sqrt(v / correct2) + epsilon) {
    const double root = std::sqrt(v / correct2);
    const double underflow = std::sqrt(0x1p-149 / correct2) / denominator / 0x1p-24;
    growth = 1 + (v > 0 ? V / v * root / denominator : 0) + (underflow < 1 ? underflow : 1);
  }
  /// Returns the loss of denormal numerators: a moment 4 of the smallest and the gradient 2, times `scale`,
  /// and two products.
  double lost(double scale) const { return (6 * scale + 2) * 0x1p-149 / denominator / (kTerms * 0x1p-24); }
  double denominator, growth;
};

}  // namespace klab::optimizer
