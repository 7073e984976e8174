// mlp_bwd.cpu.07_threads: tiles shared out among the cores, gradients of the weights added up at the end.
//
// CHANGE    each thread takes one contiguous run of tiles and sums its own gradients of the weights; the sums
//           are then added in the order of the threads.
// EXPECT    close to the number of cores: threads share only some thousand sums, added once a call.
// NUMERICS  as the parent within a thread. The same number of threads gives the same bits; another number
//           adds up in another order.
// NEEDS     as the parent, for each thread.
// TRIED     see NOTES.md, cpu.07_threads
#include <omp.h>

#include <algorithm>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/mlp_bwd/mlp_bwd.h"

#include "hwy/aligned_allocator.h"
#include "hwy/contrib/math/math-inl.h"
#include "kernels/common/transpose_block-inl.h"

KLAB_SIMD_BEGIN();

using Tag = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Tag>;
constexpr int64_t kTile = 64;  // samples; a multiple of kVectors vectors of at most 16 lanes
constexpr int64_t kPad = 16;   // columns of a weight matrix are padded to a multiple: whole vectors
#include "kernels/mlp_bwd/cpu/05_register_tile-inl.h"

#include "kernels/mlp_bwd/cpu/04_simd-inl.h"

#include "kernels/mlp_bwd/cpu/06_simd_tile-inl.h"

#include "kernels/mlp_bwd/cpu/06_simd_tile_pass-inl.h"

/// Samples [begin, end): writes d_x and, to `gradient`, which is laid out as the weights, these samples'
/// sums.
void network(const MlpBwd::Args<float>& x, int64_t begin, int64_t end, float* gradient) {
  const MlpBwd::Shape& s = x.shape;
  Work w(x);
  for (int64_t i = begin; i < end; i += kTile) tile(x, i, std::min(kTile, end - i), w);
  for (int64_t l = 0; l < s.layers(); ++l)
    for (int64_t r = 0; r < s.to(l); ++r)
      gradient = std::copy_n(w.sums + w.layer_begin[size_t(l)] + r * padded(s.from(l)), s.from(l), gradient);
}

KLAB_SIMD_ONCE(network);

#if HWY_ONCE
constexpr int64_t kShare = 64;  // threads begin at multiples of the tile

#include "kernels/mlp_bwd/cpu/07_threads_run-inl.h"

KLAB_VARIANT(MlpBwd, {.run = run,
                      .parent = "06_simd_tile",
                      .forward = "06_threads",
                      .expect = {.shape = {1 << 18, 32, 64, 2, 3, 1}, .over_parent = 1.6},
                      .was = {"05_threads"}});
KLAB_SIMD_CLOSE();
#endif
