// layernorm_fwd.cpu.06_merged_blocks: mean and variance from one reading of a long row.
//
// CHANGE    rows longer than L1 go in blocks that fit: sum and squares about the block's own mean, from L1;
//           then the block is merged with the statistics of the row before it (Chan, Golub and LeVeque 1983:
//           Welford's update with a block in the place of a number).
// EXPECT    a row that no cache holds is read twice from memory and not three times: up to 16/12 = 1.33 times
//           with the stores. Shorter rows go the parent's way.
// NUMERICS  the squares of a block are about its own mean; the merge adds positive numbers only. One more
//           term in the bound than two passes, mean over deviation times: moments.h.
// TRIED     Welford's update number by number: a division for each feature and lane.
#include <algorithm>
#include <cmath>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "kernels/common/threads.h"
#include "reference/layernorm_fwd/layernorm_fwd.h"

#include "hwy/cache_control.h"
#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/layernorm_fwd/cpu/03_simd-inl.h"

/// Count, mean and the sum of squares about it, of a part of a row.
struct Part {
  float count, mean, squares;
};

Part part_of(const float* HWY_RESTRICT row, int64_t c) {
  const float mean = sum_of(row, c) / float(c);
  return {float(c), mean, squares_about(row, c, mean)};
}

Part join(const Part& a, const Part& b) {
  const float count = a.count + b.count, apart = b.mean - a.mean, share = b.count / count;
  return {count, a.mean + apart * share, a.squares + b.squares + apart * apart * (a.count * share)};
}

constexpr int64_t kBlock = 4096;  // features: half of the smallest L1

Part whole(const float* HWY_RESTRICT row, int64_t c) {
  Part known = part_of(row, std::min(c, kBlock));
  for (int64_t j = kBlock; j < c; j += kBlock) known = join(known, part_of(row + j, std::min(kBlock, c - j)));
  return known;
}

#include "kernels/layernorm_fwd/cpu/05_streaming-inl.h"

/// Rows [i, end).
void normalize(const LayernormFwd::Args<float>& x, int64_t i, int64_t end, bool stream) {
  const int64_t c = x.shape.c;
  for (; i < end; ++i) {
    const float* row = x.x + i * c;
    const Part row_of = whole(row, c);
    const float rstd = 1 / std::sqrt(row_of.squares / float(c) + *x.epsilon);
    normalize_row(x, row, x.y + i * c, row_of.mean, rstd, stream);
    x.mean[i] = row_of.mean;
    x.rstd[i] = rstd;
  }
  if (stream) hwy::FlushStream();  // streamed lines become visible to other cores
}

KLAB_SIMD_ONCE(normalize);

#if HWY_ONCE
void run(const LayernormFwd::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 14;  // features worth waking a team for
  constexpr int64_t kBeyond = 1 << 22;  // features from which on no cache keeps the output
  const int64_t n = x.shape.n, all = n * x.shape.c;
  // A line that two short rows share would leave in two parts, each a separate write.
  const bool stream = all >= kBeyond && (x.shape.c >= 1024 || x.shape.c % 16 == 0);
  const auto part = HWY_DYNAMIC_DISPATCH(normalize);
  parallel_ranges(n, all >= kEnough, 1, [&](int64_t i, int64_t end) { part(x, i, end, stream); });
}

KLAB_VARIANT(LayernormFwd, {.run = run,
                            .parent = "05_streaming",
                            .tiles = {64, 4096},
                            .expect = {.shape = {4, 1 << 22}, .over_parent = 1.2},
                            .when = {{4, 1 << 22}, "rows that no cache holds"}});
KLAB_SIMD_CLOSE();
#endif
