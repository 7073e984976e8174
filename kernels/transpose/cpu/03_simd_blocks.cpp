// transpose.cpu.03_simd_blocks: squares transposed inside the vector registers.
//
// CHANGE    a block is loaded as vectors, transposed by shuffles and stored as vectors
//           (kernels/common/transpose_block-inl.h): per element one quarter of a load, one of a store, half
//           a shuffle at 16 lanes.
// EXPECT    several times the parent while the data sit in L1 or L2, where instructions are the limit; less
//           beyond.
// NUMERICS  copies bits.
// NEEDS     nothing; vectors of 4, 8 or 16 lanes are used, whichever the machine has.
// TRIED     see NOTES.md, cpu.03_simd_blocks
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/transpose/transpose.h"

#include "kernels/common/transpose_block-inl.h"

KLAB_SIMD_BEGIN();

// A band of 32 rows is walked 16 columns at a time: two full lines of each of 16 output rows are written
// together.
void transpose(const Transpose::Args<float>& x) {
  constexpr int64_t kBand = 32, kCols = 16;
  const auto [m, n] = x.shape;
  for (int64_t i = 0; i < m; i += kBand)
    for (int64_t j = 0; j < n; j += kCols)
      transpose_block(x.in + i * n + j, n, x.out + j * m + i, m, std::min(kBand, m - i),
                      std::min(kCols, n - j));
}

KLAB_SIMD_ONCE(transpose);

#if HWY_ONCE
void run(const Transpose::Args<float>& x) { HWY_DYNAMIC_DISPATCH(transpose)(x); }

KLAB_VARIANT(Transpose, {.run = run,
                         .parent = "02_blocked",
                         .tiles = {16, 32},
                         .expect = {.shape = {256, 256}, .over_parent = 2}});
KLAB_SIMD_CLOSE();
#endif
