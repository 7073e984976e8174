// rmsnorm_fwd.cpu.01_naive: the sum of squares, then the output.
//
// CHANGE    the naive loops.
// EXPECT    one chain of additions a row where layernorm_fwd has two: nearly half its time.
// NUMERICS  one float accumulator.
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/rmsnorm_fwd/rmsnorm_fwd.h"

namespace klab {
namespace {

void run(const RmsnormFwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  for (int64_t i = 0; i < n; ++i) {
    const float* row = x.x + i * c;
    float squares = 0;
    for (int64_t j = 0; j < c; ++j) squares += row[j] * row[j];
    const float rrms = 1 / std::sqrt(squares / float(c) + *x.epsilon);
    for (int64_t j = 0; j < c; ++j) x.y[i * c + j] = x.gamma[j] * (row[j] * rrms);
    x.rrms[i] = rrms;
  }
}

KLAB_VARIANT(RmsnormFwd, {.run = run, .numerics = {.growth = Growth::linear}});

}  // namespace
}  // namespace klab
