// pool_bwd.cpu.03_threads: pictures shared out.
//
// CHANGE    a thread takes whole channels: no two windows of different channels meet a pixel. NHWC: a range of channels of an image.
// EXPECT    nearly as many times faster as there are cores where there are channels for all: at least 1.5 times on two.
// NUMERICS  as the parent: the same bits with any number of threads.
// NEEDS     as the parent, and OpenMP.
#include <omp.h>

#include <algorithm>
#include <limits>

#include "harness/core/registrar.h"
#include "kernels/common/pad/layers.h"
#include "kernels/common/scratch.h"
#include "kernels/common/simd.h"
#include "reference/pool_bwd/pool_bwd.h"

#include "kernels/common/pool/rows-inl.h"

KLAB_SIMD_BEGIN();

using Args = PoolBwd::Args<float>;

namespace lines = klab::pools::HWY_NAMESPACE;
using lines::kBeyond;
using lines::lanes;
using lines::Scales;
using lines::Sorted;
using lines::Tag;

#include "kernels/pool_bwd/cpu/02_simd_taps-inl.h"
#include "kernels/pool_bwd/cpu/02_simd_window-inl.h"

#include "kernels/pool_bwd/cpu/02_simd-inl.h"

#include "kernels/pool_bwd/cpu/03_threads-inl.h"

KLAB_SIMD_ONCE(pool);

#if HWY_ONCE
void run(const PoolBwd::Args<float>& x) {
  if (x.shape.border != 0) return pad::backward(x, x.shape.c, run);
  HWY_DYNAMIC_DISPATCH(pool)(x);
}

KLAB_VARIANT(PoolBwd, {.run = run,
                       .parent = "02_simd",
                       .tiles = {8, 16, 32},
                       .needs = {"border"},
                       .expect = {.shape = {1, 64, 112, 112, 2, 2, 2, 2, 0, 0, 0, 0}, .over_parent = 1.5},
                       .was = {"04_written_once"}});
KLAB_SIMD_CLOSE();
#endif
