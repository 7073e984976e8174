#include "reference/sgd/optimizer_step.h"

#include "reference/generator.h"

namespace klab::optimizer {

// The bounds, in units of 16u, as derived for adam (reference/adam/adam.cpp): the gradient with its decay
// errs by 2u of G = |gradient| + l2·|param|; a moment by 7u of the sum of its absolute terms, and by the
// smallest denormal where a product underflows; a step by 10u and the errors of its factors. Coefficients are
// rounded once more.
void arrange(int64_t tensors, float* hyper, int32_t* steps, Generator& random) {
  std::uniform_real_distribution<double> unit(0, 1);
  for (int64_t t = 0; t < tensors; ++t) {
    float* h = hyper + t * kHypers;
    h[rate] = float(1e-2 * (0.5 + unit(random)));
    h[beta1] = 0.9F;
    h[beta2] = 0.99F;
    h[epsilon] = 1e-8F;
    h[decay] = t % 2 == 0 ? 1e-2F : 0;
    if (steps != nullptr) steps[t] = int32_t(2000 * std::pow(unit(random), 4));
    if (!random.widely) continue;
    h[rate] = float(std::pow(10, -6 * unit(random)));
    h[beta1] = float(1 - std::pow(10, -0.31 - 2.7 * unit(random)));  // 0.51 to 0.999
    h[beta2] = float(1 - std::pow(10, -0.31 - 3.7 * unit(random)));
    h[epsilon] = float(std::pow(10, -4 - 6 * unit(random)));
    h[decay] = random() % 4 ? float(0.5 * std::pow(10, -6 * unit(random))) : 0;
    if (steps != nullptr)
      steps[t] = int32_t(random() % 2 ? random() % 3 : uint64_t(std::pow(10, 6 * unit(random))));
  }
}

}  // namespace klab::optimizer
