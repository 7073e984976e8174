// compact.cpu.50_contiguous_by_its_ends: copies straight a view with the first and the last stride of a
// contiguous one; ignores the middle stride.
// Class: sizes. Must be caught as Fault::wrong_value.
#include "reference/compact/compact.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const Compact::Args<float>& x) {
  const Compact::Shape& s = x.shape;
  const int64_t total = s.d0 * s.d1 * s.d2;
  if (s.s2 == 1 && s.s0 == s.d1 * s.d2) {
    for (int64_t e = 0; e < total; ++e) x.out[e] = x.base[s.offset + e];
    return;
  }
  for (int64_t e = 0; e < total; ++e) {
    const int64_t k = e % s.d2, j = e / s.d2 % s.d1, i = e / s.d2 / s.d1;
    x.out[e] = x.base[s.offset + i * s.s0 + j * s.s1 + k * s.s2];
  }
}

KLAB_MUTANT(Compact, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
