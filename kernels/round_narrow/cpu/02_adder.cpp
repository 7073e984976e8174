// round_narrow.cpu.02_adder: the adder rounds.
//
// CHANGE    a float plus 1.5 times a power of two that many digits above it keeps the digits that the format has, rounded to
//           nearest even: (x + m) - m, without bits taken apart (reference/rounding.h). Counts are sums of comparisons.
// EXPECT    a dozen instructions without a branch, of which the compiler makes vectors: at least 10 times the parent.
// NUMERICS  the contract's bits.
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/round_narrow/round_narrow.h"
#include "reference/rounding.h"

namespace klab {
namespace {

void run(const RoundNarrow::Args<float>& x) {
  const Rounding16 rounding(RoundNarrow::format_of(x.shape.format));
  const float factor = *x.factor;
  const float* const from = x.x;
  float* const to = x.y;
  int32_t numbers = 0, to_zero = 0, infinite = 0;
#pragma omp simd reduction(+ : numbers, to_zero, infinite)
  for (int64_t i = 0; i < x.shape.n; ++i) {
    const float product = factor * from[i], y = rounding(product);
    numbers += product != 0;
    to_zero += product != 0 && y == 0;
    infinite += std::isfinite(product) && std::isinf(y);
    to[i] = y;
  }
  x.lost[0] += numbers;
  x.lost[1] += to_zero;
  x.lost[2] += infinite;
}

KLAB_VARIANT(RoundNarrow,
             {.run = run, .parent = "01_naive", .expect = {.shape = {1 << 22, 0}, .over_parent = 5}});

}  // namespace
}  // namespace klab
