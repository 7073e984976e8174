// pool_fwd.cpu.04_threads: rows of outputs shared out.
//
// CHANGE    the rows of outputs of all pictures are numbered through, and each thread takes a range of them.
// EXPECT    a copy's bandwidth with all cores: at least 1.5 times on two.
// NUMERICS  as the parent: the same bits with any number of threads.
// NEEDS     as the parent, and OpenMP.
#include <omp.h>

#include <algorithm>
#include <limits>

#include "harness/core/registrar.h"
#include "kernels/common/pad/layers.h"
#include "kernels/common/scratch.h"
#include "kernels/common/simd.h"
#include "reference/pool_fwd/pool_fwd.h"

#include "kernels/common/pool/rows-inl.h"

KLAB_SIMD_BEGIN();

namespace rows = klab::pools::HWY_NAMESPACE;
using rows::kBeyond;
using rows::lanes;
using rows::reduced;
using rows::Tag;

#include "kernels/pool_fwd/cpu/03_simd-inl.h"

void pool(const PoolFwd::Args<float>& x) {
  const PoolShape& s = x.shape;
  if (s.n * s.c == 0) return;
  const int64_t size = s.nhwc != 0 ? s.c : 1, total = s.n * s.c / size * s.oh();
  const double portion = 1e5;  // numbers read and written: some microseconds
  const double portions = double(s.n * s.c) * double(s.h * s.w + s.oh() * s.ow()) / portion;
  const int threads = std::max(1, int(std::min(portions, double(omp_get_max_threads()))));
#pragma omp parallel num_threads(threads)
  {
    const int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
    if (s.is_max())
      output_rows<true>(x, size, total * me / team, total * (me + 1) / team);
    else
      output_rows<false>(x, size, total * me / team, total * (me + 1) / team);
  }
}

KLAB_SIMD_ONCE(pool);

#if HWY_ONCE
void run(const PoolFwd::Args<float>& x) {
  if (x.shape.border != 0) return pad::forward(x, x.shape.c, run);
  HWY_DYNAMIC_DISPATCH(pool)(x);
}

KLAB_VARIANT(PoolFwd, {.run = run,
                       .parent = "03_simd",
                       .tiles = {8, 16, 32},
                       .needs = {"border"},
                       .expect = {.shape = {1, 64, 112, 112, 2, 2, 2, 2, 0, 0, 0, 0}, .over_parent = 1.5}});
KLAB_SIMD_CLOSE();
#endif
