// Steps of optimizers: the formulas of an entry, once for numbers (CUDA) and once for vectors (the processor).
//
// Included inside the namespace of the one or the other, which has Set, Add, Sub, Mul, MulAdd, Div and Sqrt, and under
// KLAB_RULE, how its functions are declared. So it has no guard and no namespace of its own.

/// The gradient that acts: with the L2 penalty's.
template <Optimizer kind, class D, class V>
KLAB_RULE V rule_gradient(D d, const OptimizerCoefficients& k, V gradient, V param) {
  if (kind == Optimizer::adamw) return gradient;
  return MulAdd(Set(d, k.l2), param, gradient);
}

/// The moments after it.
template <Optimizer kind, class D, class V>
KLAB_RULE V rule_m(D d, const OptimizerCoefficients& k, V g, V m) {
  return MulAdd(Set(d, k.beta1), m, Mul(Set(d, k.rest1), g));
}
template <Optimizer kind, class D, class V>
KLAB_RULE V rule_v(D d, const OptimizerCoefficients& k, V g, V v) {
  return MulAdd(Set(d, k.beta2), v, Mul(Mul(Set(d, k.rest2), g), g));
}

/// The parameter after them.
template <Optimizer kind, class D, class V>
KLAB_RULE V rule_param(D d, const OptimizerCoefficients& k, V g, V param, V m, V v) {
  V step = kind == Optimizer::sgd ? Mul(Set(d, k.on_g), g) : Mul(Set(d, k.on_m), m);
  if (kind == Optimizer::nesterov || kind == Optimizer::nadam) step = MulAdd(Set(d, k.on_g), g, step);
  if (kind == Optimizer::adamw || kind == Optimizer::nadam)
    step = Div(step, Add(Sqrt(Mul(v, Set(d, k.inverse2))), Set(d, k.epsilon)));
  if (kind == Optimizer::adamw) param = Mul(Set(d, k.keep), param);
  return Sub(param, step);
}
