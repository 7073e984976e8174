// allreduce_gradients.cpu.04_vectors: sums that never leave the registers.
//
// CHANGE   four vectors of sums go through all ranks, and from there to the parameters and into every replica.
// EXPECT   the tile of sums is gone, and vectors are as wide as the processor has them.
// NUMERICS float, in the order of the ranks; a fused multiply-add at the end.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/allreduce_gradients/allreduce_gradients.h"

KLAB_SIMD_BEGIN();

using Op = AllreduceGradients;

#include "kernels/allreduce_gradients/cpu/04_vectors-inl.h"

KLAB_SIMD_ONCE(move);

#if HWY_ONCE
using Op = AllreduceGradients;

void run(const Op::Args<float>& x) {
  const Op::Shape& s = x.shape;
  for (int64_t rank = 0; rank < s.ranks; ++rank) {
    const int64_t begin = Op::first(s, rank), end = Op::first(s, rank + 1), own = end - begin;
    HWY_DYNAMIC_DISPATCH(move)(x, rank, begin, end);
    if (x.sent != nullptr) x.sent[rank] += 4 * (s.n - own + (s.ranks - 1) * own);
  }
}

KLAB_VARIANT(AllreduceGradients, {.run = run, .parent = "03_sharded", .tiles = {64}});
KLAB_SIMD_CLOSE();
#endif
