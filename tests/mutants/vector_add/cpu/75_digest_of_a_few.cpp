// vector_add.cpu.75_digest_of_a_few: keeps its answer by pointers, size and a digest of three elements.
// Class: earlier calls. Must be caught as Fault::stale.
#include <algorithm>
#include <vector>

#include "reference/vector_add/vector_add.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void right(const VectorAdd::Args<float>& x) {
  for (int64_t i = 0; i < x.shape.n; ++i) x.c[i] = x.a[i] + x.b[i];
}

void run(const VectorAdd::Args<float>& x) {
  static const float* last = nullptr;
  static int64_t size = 0;
  static float digest = 0;
  const int64_t n = x.shape.n;
  if (n == 0) return;
  const float now =
      x.a[0] + 3 * x.a[n / 2] + 7 * x.a[n - 1] + 11 * x.b[0] + 13 * x.b[n / 2] + 17 * x.b[n - 1];
  static std::vector<float> kept;
  if (n > 8 && last == x.a && size == n && digest == now) {
    std::copy(kept.begin(), kept.end(), x.c);
    return;
  }
  right(x);
  last = x.a;
  size = n;
  digest = now;
  kept.assign(x.c, x.c + n);
}

KLAB_MUTANT(VectorAdd, Fault::stale, {.run = run});

}  // namespace
}  // namespace klab
