// compact.cpu.01_naive: the place of every element computed from scratch.
//
// CHANGE    one loop over the result; each index is split into three by division, as a generic tensor library
//           does.
// EXPECT    two 64-bit divisions an element take far longer than its memory traffic.
// NUMERICS  copies bits.
#include "harness/core/registrar.h"
#include "reference/compact/compact.h"

namespace klab {
namespace {

void run(const Compact::Args<float>& x) {
  const Compact::Shape& s = x.shape;
  const int64_t total = s.d0 * s.d1 * s.d2;
  for (int64_t e = 0; e < total; ++e) {
    const int64_t k = e % s.d2, j = e / s.d2 % s.d1, i = e / s.d2 / s.d1;
    x.out[e] = x.base[s.offset + i * s.s0 + j * s.s1 + k * s.s2];
  }
}

KLAB_VARIANT(Compact, {.run = run});

}  // namespace
}  // namespace klab
