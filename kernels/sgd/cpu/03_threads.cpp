// sgd.cpu.03_threads: entries shared out among the cores.
//
// CHANGE    each thread takes a run of entries that begins at a cache line, across the borders of tensors.
// EXPECT    the bandwidth of the memory, of which one core leaves a little, or half, as its own is: at least 1.05 times.
// NUMERICS  as the parent, bit for bit: entries do not meet.
#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "kernels/common/threads.h"
#include "reference/sgd/sgd.h"

#include "kernels/common/optimizer/lanes-inl.h"

KLAB_SIMD_BEGIN();

using Args = Sgd::Args<float>;
constexpr Optimizer kRule = Optimizer::sgd;

#include "kernels/common/optimizer/02_simd-inl.h"

KLAB_SIMD_ONCE(update);

#if HWY_ONCE
using Args = Sgd::Args<float>;

#include "kernels/common/optimizer/03_threads-inl.h"

KLAB_VARIANT(Sgd, {.run = run,
                   .parent = "02_simd",
                   .tiles = {16},
                   .expect = {.shape = {1 << 23, 64}, .over_parent = 1.05}});
KLAB_SIMD_CLOSE();
#endif
