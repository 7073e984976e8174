// transpose.cpu.11_whole_lines: each input line is touched once.
//
// CHANGE    sixteen whole lines of input are loaded and transposed in registers, in place of quarters of lines, four
//           visits to each. So that prefetched lines survive in L2, steps are 32 rows.
// EXPECT    1.3 times or more where input rows are a large power of two apart and output rows begin anywhere: 16
//           rows then meet in one set of L1, which holds 8, and every visit fetches the line from L2 again.
//           Elsewhere no change: more shuffles, fewer loads.
// NUMERICS  copies bits.
// NEEDS     vectors of 64 bytes, a whole line; with shorter ones only the steps differ from the parent.
// TRIED     see NOTES.md, cpu.11_whole_lines
#include <omp.h>

#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/transpose/transpose.h"

#include "hwy/cache_control.h"
#include "kernels/common/transpose_block-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/common/transpose/11_whole_lines-inl.h"

#include "kernels/transpose/cpu/07_carry-inl.h"

#include "kernels/transpose/cpu/10_realign-inl.h"

#include "kernels/transpose/cpu/10_realign_aligned-inl.h"

#include "kernels/common/transpose/11_whole_lines_tiles-inl.h"

KLAB_SIMD_ONCE(plain_tile, aligned_tile, any_tile);

#if HWY_ONCE
#include "kernels/common/transpose/10_realign_run-inl.h"

KLAB_VARIANT(Transpose, {.run = run,
                         .parent = "10_realign",
                         .tiles = {16, 32, 64, 1024},
                         .expect = {.shape = {4099, 4096}, .over_parent = 1.3},
                         .when = {{4099, 4096}, "rows of the input meet in one set of L1"}});
KLAB_SIMD_CLOSE();
#endif
