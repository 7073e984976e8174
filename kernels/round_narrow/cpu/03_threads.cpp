// round_narrow.cpu.03_threads: numbers shared out among the cores.
//
// CHANGE    threads take runs of numbers where there are enough for it, and their counts are added up at the end.
// EXPECT    the bandwidth of the memory, of which one core reaches a part; a matrix's few thousand stay on one core.
// NUMERICS  the contract's bits; counts are integers, which any order leaves as they are.
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/round_narrow/round_narrow.h"
#include "reference/rounding.h"

namespace klab {
namespace {

constexpr int64_t kEnough = 1 << 15;  // numbers worth waking a team for

void run(const RoundNarrow::Args<float>& x) {
  const Rounding16 rounding(RoundNarrow::format_of(x.shape.format));
  const float factor = *x.factor;
  const float* const from = x.x;
  float* const to = x.y;
  int32_t numbers = 0, to_zero = 0, infinite = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : numbers, to_zero, infinite) if (x.shape.n > kEnough)
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

KLAB_VARIANT(RoundNarrow, {.run = run,
                           .parent = "02_adder",
                           .tiles = {1 << 15},
                           .expect = {.shape = {1 << 22, 0}, .over_parent = 1.2}});

}  // namespace
}  // namespace klab
