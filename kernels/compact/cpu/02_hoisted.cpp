// compact.cpu.02_hoisted: three loops, and an inner one made for its stride.
//
// CHANGE    loops in place of divisions; the innermost dimension is a copy where its stride is 1, a fill
//           where it is 0, and a strided walk elsewhere.
// EXPECT    slices and broadcasts several times the parent: the library's copy and the compiler's fill are
//           as wide as vectors. A transposed view still reads one element per line.
// NUMERICS  copies bits.
#include <algorithm>

#include "harness/core/registrar.h"
#include "reference/compact/compact.h"

namespace klab {
namespace {

void run(const Compact::Args<float>& x) {
  const Compact::Shape& s = x.shape;
  for (int64_t i = 0; i < s.d0; ++i)
    for (int64_t j = 0; j < s.d1; ++j) {
      if (s.d2 == 0) return;
      const float* from = x.base + s.offset + i * s.s0 + j * s.s1;
      float* to = x.out + (i * s.d1 + j) * s.d2;
      if (s.s2 == 1) {
        std::copy_n(from, s.d2, to);
      } else if (s.s2 == 0) {
        std::fill_n(to, s.d2, *from);
      } else {
        for (int64_t k = 0; k < s.d2; ++k) to[k] = from[k * s.s2];
      }
    }
}

KLAB_VARIANT(Compact, {.run = run,
                       .parent = "01_naive",
                       .expect = {.shape = {16, 512, 512, 524288, 1024, 1, 0}, .over_parent = 2}});

}  // namespace
}  // namespace klab
