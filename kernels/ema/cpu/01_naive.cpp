// ema.cpu.01_naive: entry after entry.
//
// CHANGE   the naive loop.
// EXPECT   12 bytes an entry.
#include "harness/core/registrar.h"
#include "reference/ema/ema.h"

namespace klab {
namespace {

void run(const Ema::Args<float>& x) {
  const float keep = *x.keep, take = 1 - keep;
  for (int64_t i = 0; i < x.shape.n; ++i) x.average[i] = keep * x.average[i] + take * x.now[i];
}

KLAB_VARIANT(Ema, {.run = run});

}  // namespace
}  // namespace klab
