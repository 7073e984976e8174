// Shared by most wrong kernels of allreduce_gradients: the right sum of wrong gradients.
#pragma once

#include <vector>

#include "harness/core/call.h"
#include "harness/core/registry.h"
#include "reference/allreduce_gradients/allreduce_gradients.h"

namespace klab {

/// The first rung on gradients, [ranks, n], that `change` has been at.
inline void on_other_gradients(const AllreduceGradients::Args<float>& x, auto&& change) {
  std::vector<float> gradient(x.gradient, x.gradient + x.shape.ranks * x.shape.n);
  change(gradient);
  AllreduceGradients::Args<float> other = x;
  other.gradient = gradient.data();
  call<AllreduceGradients>(*find_variant("allreduce_gradients.cpu.01_everybody"), other);
}

}  // namespace klab
