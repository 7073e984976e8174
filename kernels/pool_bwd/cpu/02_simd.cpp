// pool_bwd.cpu.02_simd: windows in lanes; the first that holds the largest takes all.
//
// CHANGE    no branch and no index: a vector of windows is reduced to its maxima, then each tap, in row-major
//           order, takes the gradient in those lanes where it is the first to equal the maximum. Rows are
//           sorted by the remainders of the stride, so that a tap's windows are neighbors. An average needs
//           no comparison: its gradient is spread over columns once, and added to each row. NHWC has its
//           windows' channels side by side already.
// EXPECT    the parent waits for comparisons and for branches that go either way; here are some vector
//           instructions for a tap of 16 windows. At least 4 times.
// NUMERICS  float sums, in the order of the windows' rows.
// NEEDS     scratch memory for the rows of a window.
// TRIED     see NOTES.md, cpu.02_simd
#include <algorithm>
#include <limits>

#include "harness/core/registrar.h"
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

/// Channels [begin, end) of one image, NHWC.
void channels(const PoolShape& s, int64_t begin, int64_t end, const float* x, const float* d_y, float* d_x) {
  for (int64_t p = 0; p < s.h * s.w; ++p) std::fill_n(d_x + p * s.c + begin, end - begin, 0.0F);
  for (int64_t i = 0; i < s.oh(); ++i)
    for (int64_t j = 0; j < s.ow(); ++j) {
      const float* upstream = d_y + (i * s.ow() + j) * s.c;
      int64_t k = begin;
      for (; k + lanes() <= end; k += lanes())
        window(Tag(), s, s.rows(i), s.columns(j), x + k, upstream + k, d_x + k);
      for (; k < end; ++k)
        window(hn::CappedTag<float, 1>(), s, s.rows(i), s.columns(j), x + k, upstream + k, d_x + k);
    }
}

void pool(const Args& x) {
  const PoolShape& s = x.shape;
  const int64_t x_size = s.h * s.w, y_size = s.oh() * s.ow();
  if (s.nhwc != 0) {
    for (int64_t i = 0; i < s.n; ++i)
      channels(s, 0, s.c, x.x + i * x_size * s.c, x.d_y + i * y_size * s.c, x.d_x + i * x_size * s.c);
    return;
  }
  for (int64_t i = 0; i < s.n * s.c; ++i)
    picture(s, x.x + i * x_size, x.d_y + i * y_size, x.d_x + i * x_size);
}

KLAB_SIMD_ONCE(pool);

#if HWY_ONCE
void run(const PoolBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(pool)(x); }

KLAB_VARIANT(PoolBwd, {.run = run,
                       .parent = "01_naive",
                       .tiles = {8, 16, 32},
                       .expect = {.shape = {1, 64, 112, 112, 2, 2, 2, 2, 0, 0, 0, 0}, .over_parent = 4}});
KLAB_SIMD_CLOSE();
#endif
