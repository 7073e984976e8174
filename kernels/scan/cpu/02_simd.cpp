// scan.cpu.02_simd: eight sums by three additions.
//
// CHANGE    a vector is added to itself, shifted by one lane and then by two; the upper four lanes add the fourth. Only one addition
//           of vectors waits for the vector before.
// EXPECT    some thirteen instructions for eight elements in place of 24, and no chain: in L1 half as fast again at least. Beyond the
//           caches the parent is nearly at what memory gives to one core.
// NUMERICS  as the parent: whole numbers.
#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/scan/scan.h"

KLAB_SIMD_BEGIN();

#include "kernels/scan/cpu/02_simd-inl.h"

KLAB_SIMD_ONCE(scan_run);

#if HWY_ONCE
void run(const Scan::Args<float>& x) { HWY_DYNAMIC_DISPATCH(scan_run)(x, 0, x.shape.n, 0); }

KLAB_VARIANT(Scan, {.run = run,
                    .parent = "01_naive",
                    .tiles = {4, 8},
                    .expect = {.shape = {2048}, .over_parent = 1.5}});
KLAB_SIMD_CLOSE();
#endif
