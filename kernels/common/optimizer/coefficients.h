// Steps of optimizers: their arguments, the same for all ops, and the terms of a formula that depend on the
// tensor alone.
//
// For the processor and for CUDA kernels. The formulas of an entry are in optimizer/rules-inl.h.
#pragma once

#include <cmath>
#include <cstdint>

#if defined(__CUDACC__) || defined(KLAB_SIMT)
#define KLAB_OPTIMIZER_HERE __host__ __device__ inline
#else
#define KLAB_OPTIMIZER_HERE inline
#endif

namespace klab {

/// A step's arguments; null for those that the op does not have. hyper is [tensors,5]: rate, beta1, beta2,
/// epsilon, decay.
struct OptimizerStep {
  int64_t n, tensors;
  bool corrected;
  const float *hyper, *gradient;
  float *param, *m, *v;
  int32_t* steps;

  /// Returns where tensor t begins, as in reference/sgd/optimizer_step.h.
  KLAB_OPTIMIZER_HERE int64_t begin(int64_t t) const { return t >= tensors ? n : n / 4 * t / tensors * 4; }
};

template <class Args>
OptimizerStep optimizer_step(const Args& x) {
  OptimizerStep s{x.shape.n, x.shape.tensors, false, x.hyper, x.gradient, x.param, nullptr, nullptr, nullptr};
  if constexpr (requires { x.shape.corrected; }) s.corrected = x.shape.corrected != 0;
  if constexpr (requires { x.m; }) s.m = x.m;
  if constexpr (requires { x.v; }) s.v = x.v;
  if constexpr (requires { x.steps; }) s.steps = x.steps;
  return s;
}

/// Coefficients of an entry's formula: the same for all entries of a tensor.
struct OptimizerCoefficients {
  float l2;            // of the parameter in the gradient
  float beta1, rest1;  // m = beta1·m + rest1·g
  float beta2, rest2;  // v = beta2·v + rest2·g²
  float on_m, on_g;    // the step is on_m·m + on_g·g ...
  float inverse2;      // ... over sqrt(v·inverse2) + epsilon, where there is a v
  float epsilon;
  float keep;  // param = keep·param - step
};

enum class Optimizer { sgd, momentum, nesterov, adamw, nadam };

/// Returns the coefficients of tensor t at its next step. Bias corrections in double: 1 - beta^step cancels
/// for small steps.
template <Optimizer kind>
KLAB_OPTIMIZER_HERE OptimizerCoefficients optimizer_coefficients(const OptimizerStep& x, int64_t t) {
  const float* h = x.hyper + t * 5;
  const double rate = h[0], beta1 = h[1], beta2 = h[2], decay = h[4];
  const double step = x.steps != nullptr ? double(x.steps[t] + 1) : 0;
  OptimizerCoefficients k{h[4], h[1], 1 - h[1], h[2], 1 - h[2], 0, 0, 0, h[3], 1};
  if (kind == Optimizer::sgd) k.on_g = h[0];
  if (kind == Optimizer::momentum) k.on_m = x.corrected ? float(rate / (1 - pow(beta1, step))) : h[0];
  if (kind == Optimizer::nesterov) {
    k.on_m = float(rate * beta1);
    k.on_g = float(rate * (1 - beta1));
  }
  if (kind == Optimizer::adamw) {
    k.l2 = 0;
    k.on_m = float(rate / (1 - pow(beta1, step)));
    k.keep = float(1 - rate * decay);
  }
  if (kind == Optimizer::nadam) {
    k.on_m = float(rate * beta1 / (1 - pow(beta1, step + 1)));
    k.on_g = float(rate * (1 - beta1) / (1 - pow(beta1, step)));
  }
  if (kind == Optimizer::adamw || kind == Optimizer::nadam) k.inverse2 = float(1 / (1 - pow(beta2, step)));
  return k;
}

/// Raises the step counts of all tensors on the processor, where the rule has counts.
inline void raise_step_counts(const OptimizerStep& x) {
  for (int64_t t = 0; x.steps != nullptr && t < x.tensors; ++t) ++x.steps[t];
}

}  // namespace klab
