// compact.cpu.04_threads: pieces of the result shared among the threads.
//
// CHANGE    the two outer dimensions are cut into pieces of 64 rows, and every thread takes a contiguous
//           run of them.
// EXPECT    about the number of cores in cache; beyond it as much as one core leaves of the memory's
//           bandwidth.
// NUMERICS  copies bits.
// NEEDS     nothing. Small views stay on one thread.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/compact/compact.h"

#include "kernels/common/transpose_block-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/compact/cpu/03_simd-inl.h"

KLAB_SIMD_ONCE(slice, section);

#if HWY_ONCE
constexpr int64_t kRows = 64;         // of a piece
constexpr int64_t kEnough = 1 << 15;  // elements worth waking a team for

void run(const Compact::Args<float>& x) {
  const Compact::Shape& s = x.shape;
  const int64_t total = s.d0 * s.d1 * s.d2;
  if (total == 0) return;
  // A piece is 64 rows along `cut`, at one index of the other outer dimension.
  const bool outermost = s.s0 == 1 && s.s1 != 1 && s.s2 > 1;
  const int64_t cut = outermost ? s.d0 : s.d1, other = outermost ? s.d1 : s.d0;
  const int64_t pieces = (cut + kRows - 1) / kRows;
  const auto one = [&](int64_t p) {
    const int64_t begin = p % pieces * kRows, end = std::min(cut, begin + kRows);
    if (outermost) {
      HWY_DYNAMIC_DISPATCH(section)(x, p / pieces, begin, end);
    } else {
      HWY_DYNAMIC_DISPATCH(slice)(x, p / pieces, begin, end);
    }
  };
  if (total < kEnough) {
    for (int64_t p = 0; p < pieces * other; ++p) one(p);
    return;
  }
#pragma omp parallel for schedule(static)
  for (int64_t p = 0; p < pieces * other; ++p) one(p);
}

KLAB_VARIANT(Compact, {.run = run,
                       .parent = "03_simd",
                       .tiles = {16, 32, 64},
                       .expect = {.shape = {16, 512, 512, 262144, 1, 512, 0}, .over_parent = 1.3}});
KLAB_SIMD_CLOSE();
#endif
