// allreduce_gradients.cpu.01_everybody: every rank reads the gradients of all others.
//
// CHANGE   the naive way: each rank adds up all gradients for itself, and moves all parameters.
// EXPECT   ranks² · n additions, and a rank that sends its gradient to each of the others.
// NUMERICS float, in the order of the ranks.
#include "harness/core/registrar.h"
#include "reference/allreduce_gradients/allreduce_gradients.h"

namespace klab {
namespace {

void run(const AllreduceGradients::Args<float>& x) {
  const int64_t ranks = x.shape.ranks, n = x.shape.n;
  const float factor = *x.rate / float(ranks);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    float* const param = x.param + rank * n;
    for (int64_t i = 0; i < n; ++i) {
      float sum = 0;
      for (int64_t q = 0; q < ranks; ++q) sum += x.gradient[q * n + i];
      param[i] -= factor * sum;
    }
    if (x.sent != nullptr) x.sent[rank] += (ranks - 1) * n * int64_t(sizeof(float));
  }
}

KLAB_VARIANT(AllreduceGradients, {.run = run});

}  // namespace
}  // namespace klab
