// clip_norm.cpu.01_naive: one running sum, then one pass.
//
// CHANGE   the naive loops.
// EXPECT   a chain of additions in double, four cycles an entry.
// NUMERICS squares and their sum in double.
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/clip_norm/clip_norm.h"

namespace klab {
namespace {

void run(const ClipNorm::Args<float>& x) {
  double squares = 0;
  for (int64_t i = 0; i < x.shape.n; ++i) squares += double(x.gradient[i]) * double(x.gradient[i]);
  const double norm = std::sqrt(squares);
  *x.norm = float(norm);
  if (!(norm > double(*x.limit))) return;
  const auto scale = float(double(*x.limit) / norm);
  for (int64_t i = 0; i < x.shape.n; ++i) x.gradient[i] *= scale;
}

KLAB_VARIANT(ClipNorm, {.run = run});

}  // namespace
}  // namespace klab
